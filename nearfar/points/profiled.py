"""Base of the kinds that read a program's profile and two memories."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import msgspec

from nearfar.documents import WorkloadProfile
from nearfar.documents.prediction import HostRule
from nearfar.points.inputs import CODE, DEVICE, PointInputs
from nearfar.points.kind import PointKind
from nearfar.predict.code_file import load_code, profile_of_code
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.model import MODELS
from nearfar.predict.phases import phases_of


class ProfiledPoint(PointKind, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A point that reads a profile, the memory it was taken in, and a far memory."""

    program: str
    near: str
    far: str
    size: dict[str, float | str] = msgspec.field(default_factory=dict)
    """Values of the names in a file of formulas or a command."""
    seed: int | None = None
    """Seed of the profiled run, for a program with a command."""
    source: str = ""
    """Name of the profile's input."""

    FILLED: ClassVar[tuple[str, ...]] = ("source",)

    def needs(self) -> list[str]:
        """Return the profile and both memories."""
        return [self.source, DEVICE + self.near, DEVICE + self.far]

    def profile_of(self, inputs: PointInputs) -> WorkloadProfile:
        """Return the profile, or the one that formulas describe."""
        if not self.source.startswith(CODE):
            return inputs.profile(self.source)

        with TemporaryDirectory(prefix="nearfar-sweep-") as folder:
            path = Path(folder) / "formulas.toml"
            path.write_bytes(inputs.text(self.source))
            code = load_code(path)
        sizes = {name: float(value) for name, value in self.size.items()}
        return profile_of_code(code, inputs.device(self.near), sizes)

    def check_profile(
        self, inputs: PointInputs, model: str, phases: list[str] | None, host: HostRule
    ) -> None:
        """Refuse an unknown model or phase, and memories that lack required values."""
        MODELS.get(model)
        digests = (inputs.digest(DEVICE + self.near), inputs.digest(DEVICE + self.far))
        _check_memories(digests, self.near, self.far, host, _UnkeyedInputs(inputs))
        if not inputs.has(self.source):
            return
        if self.source.startswith(CODE):
            phases_of(self.profile_of(inputs), phases)
            return
        _check_phases(
            inputs.digest(self.source), _UnkeyedInputs(inputs, self.source), tuple(phases or ())
        )


class _UnkeyedInputs:
    """Inputs left out of a cache's key: all compare equal, so the digests are the key."""

    def __init__(self, inputs: PointInputs, name: str = "") -> None:
        self.inputs, self.name = inputs, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UnkeyedInputs)

    def __hash__(self) -> int:
        return 0


@lru_cache(4096)
def _check_memories(
    digests: tuple[str, str], near: str, far: str, host: HostRule, unkeyed: _UnkeyedInputs
) -> None:
    device = unkeyed.inputs.device(far)
    if device.technology != "paged":  # a paged memory has no latency per access
        far_memory(device, near_memory(unkeyed.inputs.device(near)), host)


@lru_cache(4096)
def _check_phases(digest: str, unkeyed: _UnkeyedInputs, phases: tuple[str, ...]) -> None:
    phases_of(unkeyed.inputs.profile(unkeyed.name), list(phases) or None)
