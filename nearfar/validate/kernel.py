"""The kernels: C files in `kernels/`, each built with the pass and its plain twin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.profile.compiler.twin import extract_plain
from nearfar.profile.sources import emulator

FOLDER = Path(__file__).parent / "kernels"
T = TypeVar("T")
U = TypeVar("U")

PHASE = "kernel"
"""What harness.c calls the phase of its timed runs."""

MOST_BURSTS = 12
"""Of a phase's 32 that are kept with a result: some 1.5 MB, from which a simulated window says the
same within 2 %."""

BURSTS_S = 30
"""Of a program's run under the emulator: some seconds of its own time."""

OPTIMISED = "-O2"
"""As Debian builds its packages."""


@dataclass(frozen=True)
class Kernel:
    """One kernel, built."""

    name: str
    instrumented: Path
    plain: Path


def kernel_names() -> list[str]:
    """Return the names of all kernels, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.c"))


def chosen_kernels(names: Sequence[str]) -> list[str]:
    """Return the kernels called so, or all; refuses a name that is none."""
    there = kernel_names()
    for name in names:
        if name not in there:
            hint = nearest(name, there) or f"; there are: {', '.join(there)}"
            raise NearfarError(f"there is no kernel {name!r} to validate with{hint}")
    return list(dict.fromkeys(names)) or there


def build(names: Sequence[str], folder: Path, tell: Callable[[float], None]) -> dict[str, Kernel]:
    """Compile kernels into `folder`, as many at once as there are cores; raises NearfarError."""
    (folder / "plain").mkdir()
    return dict(_in_parallel(lambda name: (name, _build(name, folder)), names, tell))


def profiles(
    kernels: Sequence[Kernel],
    folder: Path,
    *,
    region_bytes: int,
    runs: int,
    llc_bytes: int,
    tell: Callable[[float], None],
) -> dict[str, WorkloadProfile]:
    """Profile kernels with data of `region_bytes` and a last-level cache of `llc_bytes`.

    Several at once: misses are simulated and near time is taken later, so that nothing is timed.
    """

    def one(kernel: Kernel) -> tuple[str, WorkloadProfile]:
        command = [str(kernel.instrumented), str(region_bytes), "once", str(runs)]
        return kernel.name, profile(command, folder / f"{kernel.name}.json", llc_bytes)

    return dict(_in_parallel(one, kernels, tell))


def profile(command: Sequence[str], output: Path, llc_bytes: int) -> WorkloadProfile:
    """Profile a program once; raises NearfarError with the sentence of `nearfar profile`.

    Bursts are of a second run, emulated, which takes ten times as long or `BURSTS_S`; left out
    where there is no emulator.
    """
    options = ["--quiet", "-o", str(output), "--llc", f"{llc_bytes}B", "--repetitions", "1"]
    if emulator.installed():
        options += ["--bursts", "--sample", f"{BURSTS_S}s"]
    _run([sys.executable, "-m", "nearfar", "profile", *options, "--", *command])
    return profiled(output)


def profiled(output: Path) -> WorkloadProfile:
    """Return what `profile` wrote, with as many bursts as a result keeps."""
    return _with_few_bursts(load(output, WorkloadProfile))


def _with_few_bursts(workload: WorkloadProfile) -> WorkloadProfile:
    """Return a profile with a bounded number of bursts, evenly of those it has."""
    if workload.bursts is None:
        return workload
    phases = [
        msgspec.structs.replace(
            phase, bursts=phase.bursts[:: max(1, -(-len(phase.bursts) // MOST_BURSTS))]
        )
        for phase in workload.bursts.phases
    ]
    return msgspec.structs.replace(
        workload, bursts=msgspec.structs.replace(workload.bursts, phases=phases)
    )


def _build(name: str, folder: Path) -> Kernel:
    program = folder / name
    sources = [FOLDER / f"{name}.c", *sorted((FOLDER / "harness").glob("*.c"))]
    options = [OPTIMISED, "-std=gnu11", f"-I{FOLDER / 'harness'}", f"-I{include_folder()}"]
    compiler = [sys.executable, "-m", "nearfar", "cc"]
    _run([*compiler, *options, *map(str, sources), "-o", str(program)])
    # Its own folder: instrumented and plain file have the same name.
    plain = extract_plain(program, folder / "plain")
    if plain is None:
        raise NearfarError(f"{program} holds no plain build of itself")
    return Kernel(name, program, plain)


def _run(command: Sequence[str]) -> None:
    # A group of its own: Ctrl-C reaches us, and ending the tool's children is up to it.
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return
    said = done.stderr.strip().splitlines()
    sentence = next((line for line in reversed(said) if line.startswith("nearfar: ")), "")
    what = sentence.removeprefix("nearfar: ") or (said[-1] if said else "it said nothing")
    known = {int(code) for code in ExitCode} - {0, 1}
    code = ExitCode(done.returncode) if done.returncode in known else ExitCode.PROGRAM_FAILED
    raise NearfarError(what, code)


def _in_parallel(
    work: Callable[[T], U], things: Sequence[T], tell: Callable[[float], None]
) -> list[U]:
    """Return what `work` makes of every thing; the first failure ends what has not begun."""
    workers = max(len(os.sched_getaffinity(0)), 1)
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(work, thing) for thing in things]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                tell(done / len(waiting))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in waiting]
