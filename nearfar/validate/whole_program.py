"""Whole programs in near and far memory: unmodified, with their memory set from outside."""

from __future__ import annotations

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
from nearfar.base.terminate import kill_group
from nearfar.contention.co_runner import CoRunner, working
from nearfar.contention.program_memory import ProgramMemory
from nearfar.profile.compiler import twin
from nearfar.program.executable import find_executable
from nearfar.validate.core_pairing import CorePairings

HUGE_PAGES_TUNABLE = "glibc.malloc.hugetlb=1"
"""From glibc 2.35 on, malloc then asks for huge pages for all memory it gets from the system."""

POLL_S = 0.02
"""Time between samples of how much of a program's memory is in huge pages."""

SLICE_S = 0.1
"""Time between probes of the core pairing. The program stops during a probe, which takes 3 ms (no
CPU time of the program) and touches few lines of its caches."""

MAX_WAIT_S = 30.0
"""Maximum total wait, in one run, for the core pairing in which the run began."""

WAIT_PROBE_S = 0.02
"""Time between probes during that wait."""

MAX_MOVED_SHARE = 0.1
"""Maximum share of a run's slices in which the cores moved. On average half of such a slice was in
another pairing, where programs took up to a third more or less: an error of 2 % of the run's time.
"""


@dataclass(frozen=True)
class WholeProgram:
    """A program, its arguments, and its plain build."""

    command: Sequence[str]
    plain: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file's name and the arguments, for tables."""
        return " ".join([Path(self.command[0]).name, *self.command[1:]])


@dataclass(frozen=True)
class ProgramRun:
    """CPU time of a run with all its children, and its share of huge pages."""

    ns: float
    huge_share: float


@dataclass
class _Memory:
    """KiB of a process that are present, and those in huge pages."""

    present: int = 0
    huge: int = 0

    def update(self, pid: int) -> None:
        """Sample the process's memory, and keep the largest sample."""
        sizes = {"Rss:": 0, "AnonHugePages:": 0}
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                key, *rest = line.split()
                if key in sizes:
                    sizes[key] = int(rest[0])
        except (OSError, ValueError):
            return
        self.present, self.huge = max((self.present, self.huge), tuple(sizes.values()))


def check_supported(memory: ProgramMemory) -> None:
    """Refuse memories that a whole program's data cannot be put into from outside."""
    if memory.spec.kind not in ("dram", "node"):
        raise NearfarError(
            f"a whole program cannot use {memory.spec} as its memory: validate kernels there, or "
            "make the memory a NUMA node (daxctl reconfigure-device --mode=system-ram)",
            ExitCode.MACHINE_LACKS,
        )


def prepare(command: Sequence[str], folder: Path) -> WholeProgram:
    """Find a program and extract its plain build, if it contains one."""
    executable = find_executable(command[0])
    if twin.is_instrumented(executable):
        target = Path(tempfile.mkdtemp(prefix="plain-", dir=folder))
        plain = twin.extract_plain(executable, target)
        if plain is not None:
            return WholeProgram(command, plain, twin.plain_environment(target))
    return WholeProgram(command, executable, dict(os.environ))


def run(
    program: WholeProgram,
    memory: ProgramMemory,
    cpu: int,
    launcher: Path,
    *,
    co_runner: CoRunner | None,
    pairings: CorePairings,
) -> tuple[ProgramRun | None, int | None]:
    """Run a program in `memory` on `cpu`; return the run and the core pairing in which it began.

    The program's output is dropped, and it stops while the cores are in another pairing. `launcher`
    is the plain build of any kernel: it sets its own memory policy and executes the program. The
    run is None if the cores moved too often or did not return to the first pairing.
    """
    first = pairings.settle(patiently=True)
    if first is None:
        return None, None
    process = _start(program, memory, cpu, launcher)
    slices = moves = 0
    disturbed = pairings.disturbed
    usage = _Memory()
    wait_s = MAX_WAIT_S
    try:
        while True:
            ended = _run_slice(process, co_runner, usage)
            moved = pairings.probe_patiently() != first
            slices, moves = slices + 1, moves + moved
            if ended:
                break
            if pairings.disturbed and not disturbed:
                _kill(process)
                return None, None  # pairings can no longer be distinguished
            while moved and wait_s > 0:
                began_s = time.monotonic()
                time.sleep(WAIT_PROBE_S)
                moved = pairings.settle(first, patiently=True) != first
                wait_s -= time.monotonic() - began_s
            if moved:
                _kill(process)
                return None, first
            os.killpg(process.pid, signal.SIGCONT)
    except BaseException:
        _kill(process)
        raise
    status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise NearfarError(
            f"{program.name} ended with {process.returncode} in {memory.spec}: it must succeed "
            "without input, as `PROGRAM ARGS < /dev/null` would",
            ExitCode.PROGRAM_FAILED,
        )
    if moves > MAX_MOVED_SHARE * slices:
        return None, first
    share = usage.huge / usage.present if usage.present else 0.0
    return ProgramRun((used.ru_utime + used.ru_stime) * 1e9, share), first


def _run_slice(
    process: subprocess.Popen[bytes], co_runner: CoRunner | None, usage: _Memory
) -> tuple[int, resource.struct_rusage] | None:
    """Let the process run for a slice, then stop it; return status and usage if it ended."""
    began_s = time.monotonic()
    with working(co_runner):
        while time.monotonic() - began_s < SLICE_S:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                return status, used
            usage.update(process.pid)
            time.sleep(POLL_S)
        os.killpg(process.pid, signal.SIGSTOP)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    kill_group(process.pid)
    process.wait()


def _start(
    program: WholeProgram, memory: ProgramMemory, cpu: int, launcher: Path
) -> subprocess.Popen[bytes]:
    environment = dict(program.environment)
    if not memory.small_pages:
        tunables = [environment.get("GLIBC_TUNABLES"), HUGE_PAGES_TUNABLE]
        environment["GLIBC_TUNABLES"] = ":".join(text for text in tunables if text)
    pages = "4k" if memory.small_pages else "thp"
    node = -1 if memory.node is None else memory.node
    return subprocess.Popen(
        [str(launcher), "place", str(cpu), pages, str(node), str(program.plain), *program.command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
