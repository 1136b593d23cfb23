"""Whole programs in near and far memory: as they are, placed from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.profile.compiler import twin
from nearfar.profile.program import find_executable
from nearfar.validate.companion import Companion, at_work
from nearfar.validate.place import Place
from nearfar.validate.placement import Placement

HUGE_BY_MALLOC = "glibc.malloc.hugetlb=1"
"""glibc (from 2.35 on) then asks for huge pages wherever malloc takes memory of the system."""

POLL_S = 0.02
"""Between looks at how much of a program's memory lies in huge pages."""

SLICE_S = 0.2
"""Between looks at where the cores are, for which the program rests: 3 ms, which is not CPU time,
and touches few lines of its caches."""


@dataclass(frozen=True)
class Program:
    """A program, its arguments, and its plain build."""

    command: Sequence[str]
    plain: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its file's name and arguments, for tables."""
        return " ".join([Path(self.command[0]).name, *self.command[1:]])


@dataclass(frozen=True)
class ProgramRun:
    """User and system CPU time of one run with all it started, and its share of huge pages."""

    ns: float
    huge_share: float


def check_placeable(place: Place) -> None:
    """Refuse memories that a whole program's data cannot be put into from outside."""
    if place.spec.kind not in ("dram", "node"):
        raise NearfarError(
            f"a whole program cannot take its memory from {place.spec}: validate kernels there, or "
            "make the memory a NUMA node (daxctl reconfigure-device --mode=system-ram)",
            ExitCode.MACHINE_LACKS,
        )


def prepare(command: Sequence[str], folder: Path) -> Program:
    """Find a program and take out its plain build, if it holds one."""
    executable = find_executable(command[0])
    if twin.is_instrumented(executable):
        target = Path(tempfile.mkdtemp(prefix="plain-", dir=folder))
        plain = twin.extract_plain(executable, target)
        if plain is not None:
            return Program(command, plain, twin.plain_environment(target))
    return Program(command, executable, dict(os.environ))


def run(
    program: Program,
    place: Place,
    cpu: int,
    launcher: Path,
    *,
    companion: Companion | None,
    placement: Placement,
) -> tuple[ProgramRun | None, int | None]:
    """Run it to its end in `place` on `cpu`; what it prints is thrown away.

    `launcher` is any kernel, plain: it places itself and becomes the program. Returns None where
    the cores were moved meanwhile, as soon as that is seen; and the placement it began in.
    """
    before = placement.patiently()
    if before is None:
        return None, None
    started = _start(program, place, cpu, launcher)
    huge_share = 0.0
    most_kib = 0
    try:
        pid = 0
        while not pid:
            looked = time.monotonic()
            with at_work(companion):
                while not pid and time.monotonic() - looked < SLICE_S:
                    pid, status, used = os.wait4(started.pid, os.WNOHANG)
                    if pid:
                        break
                    huge, present = _account_kib(started.pid)
                    if present > most_kib:
                        most_kib, huge_share = present, huge / present
                    time.sleep(POLL_S)
                if not pid:
                    os.killpg(started.pid, signal.SIGSTOP)
            moved = placement.patiently() != before
            if moved and not pid:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
                return None, before
            if not pid:
                os.killpg(started.pid, signal.SIGCONT)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        raise
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode != 0:
        raise NearfarError(
            f"{program.name} ended with {started.returncode} in {place.spec}: it must succeed "
            "without input, as `PROGRAM ARGS < /dev/null` would",
            ExitCode.PROGRAM_FAILED,
        )
    if moved:
        return None, before
    return ProgramRun((used.ru_utime + used.ru_stime) * 1e9, huge_share), before


def _start(program: Program, place: Place, cpu: int, launcher: Path) -> subprocess.Popen[bytes]:
    environment = dict(program.environment)
    if not place.small_pages:
        before = environment.get("GLIBC_TUNABLES")
        environment["GLIBC_TUNABLES"] = f"{before}:{HUGE_BY_MALLOC}" if before else HUGE_BY_MALLOC
    return subprocess.Popen(
        [
            *(str(launcher), "place", str(cpu), "4k" if place.small_pages else "thp"),
            *(str(-1 if place.node is None else place.node), str(program.plain), *program.command),
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _account_kib(pid: int) -> tuple[int, int]:
    """Return KiB in huge pages and KiB present of a process; (0, 0) where it has ended."""
    found = {"Rss:": 0, "AnonHugePages:": 0}
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            key, *rest = line.split()
            if key in found:
                found[key] = int(rest[0])
    except (OSError, ValueError):
        return 0, 0
    return found["AnonHugePages:"], found["Rss:"]
