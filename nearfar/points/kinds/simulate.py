"""``[[simulate]]``: an access pattern on a simulated memory, as `nearfar simulate` does."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import ClassVar

from nearfar.base.errors import NearfarError
from nearfar.base.units import parse_size_bytes
from nearfar.documents import DeviceProfile
from nearfar.options.simulate import SimulatedPattern, SimulateOptions
from nearfar.points.inputs import DEVICE, PointInputs
from nearfar.points.kind import POINT_KINDS, PointKind
from nearfar.points.row import PointValues
from nearfar.sim.from_device import from_device
from nearfar.sim.model_of import RANDOM, model_of
from nearfar.sim.parameters import DeviceModel
from nearfar.sim.simulate import LINES, MAX_IN_FLIGHT, SimulationRequest, checked, simulate_pattern

MAX_LINES = 1_000_000_000
"""Limit of simulated lines, at which shares are known to 0.003 %."""


@POINT_KINDS.register("simulate")
class SimulatePoint(PointKind, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One pattern on one memory."""

    NAME: ClassVar[str] = "simulate"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "sim", "_sim")

    far: str
    """A device of the library or a file, or random:N."""
    pattern: SimulatedPattern = SimulateOptions.pattern
    region: str = SimulateOptions.region
    access: str = SimulateOptions.access
    stride: str | None = SimulateOptions.stride
    write: bool = SimulateOptions.write
    in_flight: float | None = SimulateOptions.in_flight
    memory_mode: str | None = SimulateOptions.memory_mode
    seed: int = 1
    """Seed of the order of random accesses and of random replacement."""
    lines: int = LINES
    """Simulated lines, after a warm-up."""

    def needs(self) -> list[str]:
        """Return the device, unless it is made from a number."""
        return [] if self.far.startswith(RANDOM) else [DEVICE + self.far]

    def check(self, inputs: PointInputs) -> None:
        """Refuse patterns that the simulator refuses, and numbers that are too large."""
        if self.seed < 0:
            raise NearfarError(f"the seed of a simulation must be 0 or more, not {self.seed}")
        if not 1 <= self.lines <= MAX_LINES:
            raise NearfarError(
                f"lines, the number to simulate, must be 1 to {MAX_LINES:,}, not {self.lines:,}"
            )
        if self.in_flight is not None and not 1.0 <= self.in_flight <= MAX_IN_FLIGHT:
            raise NearfarError(
                f"in_flight must be 1 to {MAX_IN_FLIGHT:,} lines, not {self.in_flight:g}"
            )
        checked(self._request(), self._model(inputs))

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Simulate the pattern."""
        simulated = simulate_pattern(self._request(), self._model(inputs))
        return PointValues(
            ns_per_access=simulated.ns_per_access,
            gb_per_s=simulated.gb_per_s,
            more=json.dumps(
                {
                    "ns_per_line": simulated.ns_per_line,
                    "amplification": simulated.amplification,
                    "shares": simulated.shares,
                    "loaded": simulated.loaded,
                }
            ),
        ), None

    def _request(self) -> SimulationRequest:
        return SimulationRequest(
            device=self.far,
            pattern=self.pattern,
            region_bytes=_bytes(self.region),
            access_bytes=_bytes(self.access),
            stride_bytes=None if self.stride is None else _bytes(self.stride),
            write=self.write,
            in_flight=self.in_flight,
            memory_mode_bytes=None if self.memory_mode is None else _bytes(self.memory_mode),
            seed=self.seed,
            lines=self.lines,
        )

    def _model(self, inputs: PointInputs) -> DeviceModel:
        if self.far.startswith(RANDOM):
            return _made_up(self.far)
        return _of(inputs.digest(DEVICE + self.far), _Unkeyed(inputs.device(self.far)))


class _Unkeyed:
    """A device left out of a cache's key: its digest is the key."""

    def __init__(self, device: DeviceProfile) -> None:
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unkeyed)

    def __hash__(self) -> int:
        return 0


_bytes = lru_cache(1024)(parse_size_bytes)
_made_up = lru_cache(1024)(model_of)


@lru_cache(256)
def _of(digest: str, device: _Unkeyed) -> DeviceModel:
    return from_device(device.device)
