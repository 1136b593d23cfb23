"""Whole programs in near and far memory: as they are, placed from outside."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.companion import Companion, working
from nearfar.contention.program_memory import ProgramMemory
from nearfar.profile.compiler import twin
from nearfar.program.executable import find_executable
from nearfar.validate.placement import Placement

HUGE_BY_MALLOC = "glibc.malloc.hugetlb=1"
"""glibc (from 2.35 on) then asks for huge pages wherever malloc takes memory of the system."""

POLL_S = 0.02
"""Between looks at how much of a program's memory lies in huge pages."""

SLICE_S = 0.1
"""Between looks at where the cores are, for which the program rests: 3 ms, which is not CPU time,
and touches few lines of its caches."""

REST_S = 30.0
"""Of waiting, in one run, until the cores are again where it began."""

LOOK_AGAIN_S = 0.02
"""Between looks meanwhile."""

MOST_ELSEWHERE = 0.1
"""Share of a run's slices in which the cores may have been moved: half of it was elsewhere, where
programs took up to a third more or less, so this is 2 % of a run's time."""


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


def check_placeable(place: ProgramMemory) -> None:
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
    place: ProgramMemory,
    cpu: int,
    launcher: Path,
    *,
    companion: Companion | None,
    placement: Placement,
) -> tuple[ProgramRun | None, int | None]:
    """Run it to its end in `place` on `cpu`; what it prints is thrown away.

    It rests while the cores are elsewhere than where it began. `launcher` is any kernel, plain: it
    places itself and becomes the program. Returns None where the cores did not come back, or were
    moved too often; and the placement it began in.
    """
    before = placement.come_to_wanted()
    if before is None:
        return None, None
    started = _start(program, place, cpu, launcher)
    slices = elsewhere = 0
    hindered = placement.hindered
    most = (0, 0)
    rest_s = REST_S
    try:
        while True:
            ended, present = _slice(started, companion)
            most = max(most, present)
            moved = placement.patiently() != before
            slices, elsewhere = slices + 1, elsewhere + moved
            if ended:
                break
            if placement.hindered and not hindered:
                _kill(started)
                return None, None  # numbers of placements mean nothing any more
            while moved and rest_s > 0:
                began = time.monotonic()
                time.sleep(LOOK_AGAIN_S)
                moved = placement.come_to(before) != before
                rest_s -= time.monotonic() - began
            if moved:
                _kill(started)
                return None, before
            os.killpg(started.pid, signal.SIGCONT)
    except BaseException:
        _kill(started)
        raise
    status, used = ended
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode != 0:
        raise NearfarError(
            f"{program.name} ended with {started.returncode} in {place.spec}: it must succeed "
            "without input, as `PROGRAM ARGS < /dev/null` would",
            ExitCode.PROGRAM_FAILED,
        )
    if elsewhere > MOST_ELSEWHERE * slices:
        return None, before
    present_kib, huge_kib = most
    share = huge_kib / present_kib if present_kib else 0.0
    return ProgramRun((used.ru_utime + used.ru_stime) * 1e9, share), before


def _slice(
    started: subprocess.Popen[bytes], companion: Companion | None
) -> tuple[tuple[int, resource.struct_rusage] | None, tuple[int, int]]:
    """Let it run for a slice, then stop it.

    Returns its status and usage if it ended, and the most that `_memory_kib` gave.
    """
    most = (0, 0)
    began = time.monotonic()
    with working(companion):
        while time.monotonic() - began < SLICE_S:
            pid, status, used = os.wait4(started.pid, os.WNOHANG)
            if pid:
                return (status, used), most
            most = max(most, _memory_kib(started.pid))
            time.sleep(POLL_S)
        os.killpg(started.pid, signal.SIGSTOP)
    return None, most


def _kill(started: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def _start(
    program: Program, place: ProgramMemory, cpu: int, launcher: Path
) -> subprocess.Popen[bytes]:
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
        process_group=0,
    )


def _memory_kib(pid: int) -> tuple[int, int]:
    """Return KiB present of a process and those in huge pages; (0, 0) where it has ended."""
    found = {"Rss:": 0, "AnonHugePages:": 0}
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            key, *rest = line.split()
            if key in found:
                found[key] = int(rest[0])
    except (OSError, ValueError):
        return 0, 0
    return found["Rss:"], found["AnonHugePages:"]
