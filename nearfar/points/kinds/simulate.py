"""``[[simulate]]``: an access pattern on a simulated memory, as `nearfar simulate` does."""

from __future__ import annotations

import json
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar

from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile
from nearfar.options.simulate import SimulateOptions
from nearfar.points.inputs import DEVICE, PointInputs
from nearfar.points.kind import POINT_KINDS, PointKind, with_options
from nearfar.points.row import PointValues
from nearfar.sim.from_device import from_device
from nearfar.sim.model_of import RANDOM, model_of
from nearfar.sim.parameters import DeviceModel
from nearfar.sim.simulate import MAX_IN_FLIGHT, checked, simulate_pattern

MAX_LINES = 1_000_000_000
"""Limit of simulated lines, at which shares are known to 0.003 %."""


_PATTERN = (
    "pattern", "region", "access", "stride", "write", "in_flight", "memory_mode", "lines",
)  # fmt: skip
_pattern, _seed = attrgetter("far", *_PATTERN), attrgetter("seed")


@POINT_KINDS.register("simulate")
@with_options(SimulateOptions, *_PATTERN, "seed")
class SimulatePoint(PointKind, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One pattern on one memory."""

    NAME: ClassVar[str] = "simulate"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "sim", "_sim")

    far: str
    """A device of the library or a file, or random:N."""

    def needs(self) -> list[str]:
        """Return the device, unless it is made from a number."""
        return [] if self.far.startswith(RANDOM) else [DEVICE + self.far]

    def check(self, inputs: PointInputs) -> None:
        """Refuse patterns that the simulator refuses, and numbers that are too large."""
        seed, pattern = _seed(self), _pattern(self)
        if seed < 0:
            raise NearfarError(f"the seed of a simulation must be 0 or more, not {seed}")
        if (self.NAME, pattern) not in inputs.valid:
            self._check_pattern(inputs)
            inputs.valid.add((self.NAME, pattern))

    def _check_pattern(self, inputs: PointInputs) -> None:
        asked = self.asked(SimulateOptions, device=self.far)
        if not 1 <= asked.lines <= MAX_LINES:
            raise NearfarError(
                f"lines, the number to simulate, must be 1 to {MAX_LINES:,}, not {asked.lines:,}"
            )
        if asked.in_flight is not None and not 1.0 <= asked.in_flight <= MAX_IN_FLIGHT:
            raise NearfarError(
                f"in_flight must be 1 to {MAX_IN_FLIGHT:,} lines, not {asked.in_flight:g}"
            )
        checked(asked, self._model(inputs))

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Simulate the pattern."""
        asked = self.asked(SimulateOptions, device=self.far)
        simulated = simulate_pattern(asked, self._model(inputs))
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

    def _model(self, inputs: PointInputs) -> DeviceModel:
        if self.far.startswith(RANDOM):
            return _random_model(self.far)
        return _model_of_device(inputs.digest(DEVICE + self.far), _Unkeyed(inputs.device(self.far)))


class _Unkeyed:
    """A device left out of a cache's key: all compare equal, so the digest alone is the key."""

    def __init__(self, device: DeviceProfile) -> None:
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unkeyed)

    def __hash__(self) -> int:
        return 0


_random_model = lru_cache(1024)(model_of)


@lru_cache(256)
def _model_of_device(digest: str, device: _Unkeyed) -> DeviceModel:
    return from_device(device.device)
