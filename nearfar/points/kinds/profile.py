"""A program's profile, as `nearfar profile` makes it; predictions and plans of its command need it.

A block of its own is not needed: the points that read the profile bring it with them.
"""

from __future__ import annotations

import signal
import sys
from typing import ClassVar, Literal

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.folders import owned_folder
from nearfar.documents import WorkloadProfile
from nearfar.points.commanded import CommandedPoint, run_once
from nearfar.points.inputs import DEVICE, PointInputs
from nearfar.points.kind import POINT_KINDS
from nearfar.points.row import PointValues
from nearfar.profile.sources.source import SOURCES


@POINT_KINDS.register("profile")
class ProfilePoint(CommandedPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One profile."""

    NAME: ClassVar[str] = "profile"
    CODE: ClassVar[tuple[str, ...]] = ("profile",)

    near: str
    """Near memory; a file of `nearfar measure` has a core's share of last-level cache."""
    repetitions: int = 3
    """Runs of the plain build."""
    tracing: str | None = None
    """Source of accesses; by default the first of these that is available."""
    split: Literal["size"] | None = None

    def needs(self) -> list[str]:
        """Return near memory."""
        return [DEVICE + self.near]

    def check(self, inputs: PointInputs) -> None:
        """Refuse invalid counts."""
        super().check(inputs)
        if self.repetitions < 1:
            raise NearfarError(f"repetitions must be 1 or more, not {self.repetitions}")
        if self.tracing is not None:
            SOURCES.get(self.tracing)

    def run(self, inputs: PointInputs) -> tuple[PointValues, bytes]:
        """Profile the program."""
        with owned_folder("nearfar-sweep-", None) as folder:
            made = folder / "profile.json"
            command = [sys.executable, "-m", "nearfar", "profile", "--quiet", "-o", str(made)]
            command += ["--repetitions", str(self.repetitions)]
            near = inputs.device(self.near)
            if near.measured is not None:
                path = folder / "near.json"
                path.write_bytes(inputs.text(DEVICE + self.near))
                command += ["--near", str(path)]
            for option, value in (("--source", self.tracing), ("--split", self.split)):
                command += [] if value is None else [option, value]
            for key, number in self.size.items():
                if not isinstance(number, str):
                    command += ["--size", f"{key}={number:g}"]
            run_once(
                [*command, "--", *self.command],
                self.folder,
                self.environment,
                cpus=self.cpus,
                # SIGTERM lets it end its program and remove its folders.
                at_end=signal.SIGTERM,
            )
            document = made.read_bytes()
        workload = msgspec.json.decode(document, type=WorkloadProfile)
        return PointValues(
            near_time_ns=sum(phase.near_cpu_time_ns.value for phase in workload.phases),
            footprint_bytes=sum(described.size_bytes for described in workload.objects),
        ), document
