"""Kernels, programs and profiles that sessions share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from nearfar.base.files import write_atomically
from nearfar.base.folders import owned_folder
from nearfar.documents import WorkloadProfile
from nearfar.native_files import native_folder
from nearfar.profile.sources import qemu_user
from nearfar.validate import whole_program
from nearfar.validate.kernel import FOLDER as KERNELS
from nearfar.validate.kernel import Kernel, build, load_profile, profile, profiles
from nearfar.validate.session_plan import SessionPlan

MAX_CACHE_RATIO = 2.0
"""Maximum ratio of last-level caches for which one profile serves two sessions. The share of one
core in a shared cache is not known more precisely, and for data 8 times as large a doubling changes
misses by 7 %."""

Tell = Callable[[str, float], None]

RECORD_NAME = "prepared.json"


class PreparedRecord(msgspec.Struct, forbid_unknown_fields=True):
    """The session that a kept folder was prepared for."""

    kernels: list[str]
    programs: list[list[str]]
    region_bytes: int
    profile_runs: int
    llc_bytes: int
    bursts: bool
    """Whether profiles have bursts, which needs QEMU."""


@dataclass
class Prepared:
    """Kernels, programs and profiles in a folder; each is made once, when it is needed."""

    folder: Path
    kernels: dict[str, Kernel] = field(default_factory=dict)
    programs: list[whole_program.WholeProgram] = field(default_factory=list)
    profiles: dict[str, WorkloadProfile] = field(default_factory=dict)
    """Profiles by name of kernel or program."""
    llc_bytes: int = 0
    """Last-level cache of the profiles, bytes."""

    def build(self, plan: SessionPlan, tell: Tell) -> None:
        """Build kernels and find programs, unless that was done."""
        if plan.programs and not self.programs:
            whole_program.check_supported(plan.near)
            whole_program.check_supported(plan.far)
            self.programs = [whole_program.prepare(words, self.folder) for words in plan.programs]
        if not self.kernels:
            self.kernels = build(
                plan.kernels, self.folder, lambda share: tell("building kernels", share)
            )

    def profile(self, plan: SessionPlan, llc_bytes: int, tell: Tell) -> int:
        """Profile everything with a last-level cache of `llc_bytes`, unless a similar one was used.

        Returns the cache size of the profiles.
        """
        if self.profiles and 1 / MAX_CACHE_RATIO <= llc_bytes / self.llc_bytes <= MAX_CACHE_RATIO:
            return self.llc_bytes
        made = {}
        for number, program in enumerate(self.programs):
            tell(f"profiling {program.name}", 0.0)
            output = self.folder / f"program-{number}.json"
            made[program.name] = profile(program.command, output, llc_bytes)
        made |= profiles(
            list(self.kernels.values()),
            self.folder,
            region_bytes=plan.region_bytes,
            runs=plan.effort.profile_runs,
            llc_bytes=llc_bytes,
            tell=lambda share: tell("profiling kernels", share),
        )
        self.profiles, self.llc_bytes = made, llc_bytes
        return llc_bytes


def save_record(prepared: Prepared, plan: SessionPlan) -> None:
    """Record what was prepared, so that another process can use it."""
    bursts = any(workload.bursts is not None for workload in prepared.profiles.values())
    data = msgspec.json.encode(_record(plan, prepared.llc_bytes, bursts))
    write_atomically(prepared.folder / RECORD_NAME, data)


def load_prepared(folder: Path, plan: SessionPlan) -> Prepared | None:
    """Return what another process prepared for `plan`; None: nothing, or its sources changed."""
    file = folder / RECORD_NAME
    try:
        written = file.stat().st_mtime
        record = msgspec.json.decode(file.read_bytes(), type=PreparedRecord)
    except (OSError, msgspec.DecodeError):
        return None
    sources = [*native_folder().glob("*profile.*"), *native_folder().glob("*pass-*")]
    sources += [path for path in KERNELS.rglob("*") if path.is_file()]
    sources += [Path(words[0]) for words in plan.programs]
    # Profiles without bursts are made again once QEMU is installed; with bursts they stay valid.
    bursts = record.bursts or qemu_user.installed()
    same = record == _record(plan, record.llc_bytes, bursts)
    if not same or any(path.stat().st_mtime > written for path in sources):
        return None
    prepared = Prepared(folder, llc_bytes=record.llc_bytes)
    prepared.kernels = {
        name: Kernel(name, folder / name, folder / "plain" / name) for name in plan.kernels
    }
    prepared.programs = [whole_program.prepare(words, folder) for words in plan.programs]
    for name in plan.kernels:
        prepared.profiles[name] = load_profile(folder / f"{name}.json")
    for number, program in enumerate(prepared.programs):
        prepared.profiles[program.name] = load_profile(folder / f"program-{number}.json")
    return prepared


def _record(plan: SessionPlan, llc_bytes: int, bursts: bool) -> PreparedRecord:
    return PreparedRecord(
        list(plan.kernels),
        [list(words) for words in plan.programs],
        plan.region_bytes,
        plan.effort.profile_runs,
        llc_bytes,
        bursts,
    )


@contextlib.contextmanager
def preparing() -> Iterator[Prepared]:
    """Yield a temporary folder for kernels, programs and profiles."""
    with owned_folder("nearfar-validate-", None) as folder:
        yield Prepared(folder)
