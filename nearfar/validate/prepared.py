"""What sessions can share: kernels that are built, programs that are found, profiles of both."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from nearfar.base.files import write_atomically
from nearfar.documents import WorkloadProfile
from nearfar.native_files import native_folder
from nearfar.profile.sources import emulator
from nearfar.validate import whole_program
from nearfar.validate.kernel import FOLDER as KERNELS
from nearfar.validate.kernel import Kernel, build, profile, profiled, profiles
from nearfar.validate.wanted import Wanted

CACHES_ALIKE = 2.0
"""Ratio of last-level caches up to which a profile serves both sessions: what one core gets of a
shared cache is known no better, and of data eight times as large a doubling changes misses by 7 %.
"""

Tell = Callable[[str, float], None]


@dataclass
class Prepared:
    """Made as it is asked for, once."""

    folder: Path
    kernels: dict[str, Kernel] = field(default_factory=dict)
    programs: list[whole_program.Program] = field(default_factory=list)
    profiles: dict[str, WorkloadProfile] = field(default_factory=dict)
    """By name of kernel or program."""
    llc_bytes: int = 0
    """Of the profiles."""

    def build(self, wanted: Wanted, tell: Tell) -> None:
        """Build kernels and find programs, unless that was done."""
        if wanted.programs and not self.programs:
            whole_program.check_placeable(wanted.near)
            whole_program.check_placeable(wanted.far)
            self.programs = [whole_program.prepare(one, self.folder) for one in wanted.programs]
        if not self.kernels:
            self.kernels = build(
                wanted.kernels, self.folder, lambda share: tell("building kernels", share)
            )

    def profile(self, wanted: Wanted, llc_bytes: int, tell: Tell) -> int:
        """Profile all with a last-level cache of `llc_bytes`, unless that was done with one alike.

        Returns the cache of the profiles.
        """
        if self.profiles and 1 / CACHES_ALIKE <= llc_bytes / self.llc_bytes <= CACHES_ALIKE:
            return self.llc_bytes
        found = {}
        for number, program in enumerate(self.programs):
            tell(f"profiling {program.name}", 0.0)
            output = self.folder / f"program-{number}.json"
            found[program.name] = profile(program.command, output, llc_bytes)
        found.update(
            profiles(
                list(self.kernels.values()),
                self.folder,
                region_bytes=wanted.region_bytes,
                runs=wanted.effort.profile_runs,
                llc_bytes=llc_bytes,
                tell=lambda share: tell("profiling kernels", share),
            )
        )
        self.profiles, self.llc_bytes = found, llc_bytes
        return llc_bytes


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """What a folder that is kept was prepared for."""

    kernels: list[str]
    programs: list[list[str]]
    region_bytes: int
    profile_runs: int
    llc_bytes: int
    bursts: bool
    """Whether profiles have them, which takes an emulator."""


RECORD = "prepared.json"


def keep(prepared: Prepared, wanted: Wanted) -> None:
    """Note what was prepared, so that another process can go on with it."""
    bursts = any(one.bursts is not None for one in prepared.profiles.values())
    data = msgspec.json.encode(_record(wanted, prepared.llc_bytes, bursts))
    write_atomically(prepared.folder / RECORD, data)


def kept(folder: Path, wanted: Wanted) -> Prepared | None:
    """Return what another process prepared there; None: nothing, something else, or it is old."""
    file = folder / RECORD
    try:
        written = file.stat().st_mtime
        record = msgspec.json.decode(file.read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None
    sources = [*native_folder().glob("*profile.*"), *native_folder().glob("*pass-*")]
    sources += [path for path in KERNELS.rglob("*") if path.is_file()]
    sources += [Path(one[0]) for one in wanted.programs]
    # Some without bursts are made anew where there is an emulator by now; not the other way.
    bursts = record.bursts or emulator.installed()
    same = record == _record(wanted, record.llc_bytes, bursts)
    if not same or any(path.stat().st_mtime > written for path in sources):
        return None
    found = Prepared(folder, llc_bytes=record.llc_bytes)
    found.kernels = {
        name: Kernel(name, folder / name, folder / "plain" / name) for name in wanted.kernels
    }
    found.programs = [whole_program.prepare(one, folder) for one in wanted.programs]
    for name in wanted.kernels:
        found.profiles[name] = profiled(folder / f"{name}.json")
    for number, program in enumerate(found.programs):
        found.profiles[program.name] = profiled(folder / f"program-{number}.json")
    return found


def _record(wanted: Wanted, llc_bytes: int, bursts: bool) -> Record:
    return Record(
        list(wanted.kernels),
        [list(one) for one in wanted.programs],
        wanted.region_bytes,
        wanted.effort.profile_runs,
        llc_bytes,
        bursts,
    )


@contextlib.contextmanager
def preparing() -> Iterator[Prepared]:
    """Yield a place for what sessions of the same kernels and programs share."""
    with tempfile.TemporaryDirectory(prefix="nearfar-validate-") as name:
        yield Prepared(Path(name))
