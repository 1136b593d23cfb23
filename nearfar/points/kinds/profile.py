"""A program's profile, as `nearfar profile` makes it; predictions and plans of its command need it.

A block of its own is not needed: the points that read the profile bring it with them.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile
from nearfar.points.commanded import CommandedPoint, run_once
from nearfar.points.inputs import DEVICE, PointInputs
from nearfar.points.kind import POINT_KINDS
from nearfar.points.row import PointValues


@POINT_KINDS.register("profile")
class ProfilePoint(CommandedPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One profile."""

    NAME: ClassVar[str] = "profile"
    CODE: ClassVar[tuple[str, ...]] = ("profile",)

    near: str
    """A file of `nearfar measure` says how much last-level cache a core gets."""
    repetitions: int = 3
    """Of the plain build."""
    tracing: Literal["compiled", "qemu", "counters"] | None = None
    """How accesses are seen; by default the first of these that can be had."""
    split: Literal["size"] | None = None

    def needs(self) -> list[str]:
        """Return near memory."""
        return [DEVICE + self.near]

    def check(self, inputs: PointInputs) -> None:
        """Refuse counts that are none."""
        super().check(inputs)
        if self.repetitions < 1:
            raise NearfarError("repetitions are 1 or more")

    def run(self, inputs: PointInputs) -> tuple[PointValues, bytes]:
        """Profile the program."""
        with tempfile.TemporaryDirectory(prefix="nearfar-sweep-") as name:
            made = Path(name) / "profile.json"
            command = [sys.executable, "-m", "nearfar", "profile", "--quiet", "-o", str(made)]
            command += ["--repetitions", str(self.repetitions)]
            near = inputs.device(self.near)
            if near.measured is not None:
                path = Path(name) / "near.json"
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
                # Its own program and folders are its to end and remove.
                at_end=signal.SIGTERM,
            )
            document = made.read_bytes()
        found = msgspec.json.decode(document, type=WorkloadProfile)
        return PointValues(
            near_time_ns=sum(phase.near_cpu_time_ns.value for phase in found.phases),
            footprint_bytes=sum(thing.size_bytes for thing in found.objects),
        ), document
