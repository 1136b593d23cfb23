"""The executable `nearfar-bench`: its kinds, and a run of one."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.native_files import native_file
from nearfar_bench.memories import BenchMemory

Mode = Literal["time", "latency", "count"]
PRELOAD = "LD_PRELOAD"
MAX_RUN_S = 1800.0
"""Maximum time of a run, s. A longer run means a wrong argument or a disk that is 100 times too
slow."""


class Parameter(msgspec.Struct, frozen=True):
    """An argument of a kind."""

    name: str
    default: str
    meaning: str


class WorkloadKind(msgspec.Struct, frozen=True):
    """A kind of workload, as the executable lists it."""

    name: str
    summary: str
    needs: str
    parameters: list[Parameter]


class WorkloadRun(msgspec.Struct, frozen=True):
    """The output of one run."""

    kind: str
    arguments: dict[str, str]
    operations: int
    wall_ns: float
    cpu_ns: float
    system_ns: float
    minor_faults: int
    major_faults: int
    context_switches: int
    durability: dict[str, str]
    notes: dict[str, float | None]
    words: dict[str, str]
    verified: list[str]
    latency_ns: dict[str, float] = {}
    counts: dict[str, int] = {}


@functools.cache
def kinds() -> dict[str, WorkloadKind]:
    """Return the kinds of the built executable."""
    answer = subprocess.run([_executable(), "list"], capture_output=True, check=False)
    if answer.returncode != 0:
        message = answer.stderr.decode(errors="replace").strip()
        raise NearfarError(f"nearfar-bench cannot run here: {message}", ExitCode.MACHINE_LACKS)
    return {kind.name: kind for kind in msgspec.json.decode(answer.stdout, type=list[WorkloadKind])}


def find_kind(name: str) -> WorkloadKind:
    """Return a kind; refuse an unknown one with the nearest name."""
    available = kinds()
    if name not in available:
        hint = nearest(name, list(available)) or f"; there are: {', '.join(available)}"
        raise NearfarError(f"there is no kind of workload {name!r}{hint}")
    return available[name]


def run(kind: str, arguments: dict[str, str], memory: BenchMemory, mode: Mode) -> WorkloadRun:
    """Run `kind` once and return its output."""
    environment = memory.environment()
    if mode == "count":
        environment = counted(environment)
    words = [f"{key}={value}" for key, value in arguments.items()]
    with memory.pool() as places:
        command = [str(_executable()), "run", kind, *words, f"mode={mode}", *places]
        try:
            answer = subprocess.run(
                command, env=environment, capture_output=True, timeout=MAX_RUN_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise NearfarError(
                f"a run of {kind} ({_arguments_text(arguments)}) took more than "
                f"{MAX_RUN_S / 60:.0f} minutes: make it smaller",
                ExitCode.PROGRAM_FAILED,
            ) from error
    if answer.returncode != 0:
        raise _failure(kind, arguments, answer)
    return msgspec.json.decode(answer.stdout, type=WorkloadRun)


def bench_file(name: str) -> Path:
    """Return a built file of this companion, or say how to build it."""
    return native_file(name, package="nearfar_bench")


def counted(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the library that counts flushes preloaded, before all others."""
    before = [environment[PRELOAD]] if environment.get(PRELOAD) else []
    counter = str(bench_file("libnearfar_bench_count.so"))
    return {**environment, PRELOAD: ":".join([counter, *before])}


def _failure(
    kind: str, arguments: dict[str, str], answer: subprocess.CompletedProcess[bytes]
) -> NearfarError:
    message = answer.stderr.decode(errors="replace").strip().removeprefix("nearfar-bench: ")
    last = message.splitlines()[-1] if message else "it printed no message"
    try:
        code = ExitCode(answer.returncode)
    except ValueError:
        code = ExitCode.PROGRAM_FAILED
        if answer.returncode < 0:
            last = f"it was killed by {signal.Signals(-answer.returncode).name}"
            if answer.returncode == -signal.SIGKILL:
                last += ", as the system does when memory is used up: make it smaller"
    if code in (ExitCode.WRONG_USE, ExitCode.MACHINE_LACKS):
        return NearfarError(last, code)
    wrong = "left wrong content" if code is ExitCode.FOUND else "failed"
    return NearfarError(f"{kind} ({_arguments_text(arguments)}) {wrong}: {last}", code)


def _arguments_text(arguments: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in arguments.items())


def _executable() -> Path:
    path = bench_file("nearfar-bench")
    if not os.access(path, os.X_OK):
        path.chmod(path.stat().st_mode | 0o111)
    return path
