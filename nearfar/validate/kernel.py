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
from nearfar.profile.sources import qemu_user

FOLDER = Path(__file__).parent / "kernels"
T = TypeVar("T")
U = TypeVar("U")

PHASE = "kernel"
"""The phase of a kernel's timed runs (harness.c)."""

MAX_BURSTS = 12
"""Bursts of a phase, out of up to 32, that are kept with a result: about 1.5 MB. A simulated window
over them gives the same time as over all within 2 %."""

MAX_BURSTS_S = 30
"""Time of a program's run under QEMU: a few seconds of its normal time."""

REGION_IN_TIME_BYTES = 512 << 20
"""Data size above which a run under QEMU gets more time in proportion, since setup takes most of
the time: in 30 s, all of 17 kernels had bursts with 544 MiB of data, and 14 had none with 1.2
GiB."""

OPTIMISATION = "-O2"
"""Optimisation with which Debian builds its packages."""


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
    """Return the kernels of these names, or all; refuse an unknown name."""
    known = kernel_names()
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; known are: {', '.join(known)}"
            raise NearfarError(f"there is no kernel {name!r} to validate with{hint}")
    return list(dict.fromkeys(names)) or known


def build(names: Sequence[str], folder: Path, tell: Callable[[float], None]) -> dict[str, Kernel]:
    """Compile kernels into `folder`, as many at once as there are CPUs."""
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

    Several kernels run at once, because misses are simulated and near time is measured later.
    """

    def profile_kernel(kernel: Kernel) -> tuple[str, WorkloadProfile]:
        command = [str(kernel.instrumented), str(region_bytes), "once", str(runs)]
        seconds = MAX_BURSTS_S * max(1.0, region_bytes / REGION_IN_TIME_BYTES)
        output = folder / f"{kernel.name}.json"
        return kernel.name, profile(command, output, llc_bytes, round(seconds))

    return dict(_in_parallel(profile_kernel, kernels, tell))


def profile(
    command: Sequence[str], output: Path, llc_bytes: int, bursts_s: int = MAX_BURSTS_S
) -> WorkloadProfile:
    """Profile a program once; raises NearfarError with the message of `nearfar profile`.

    If QEMU is installed, bursts come from a second, emulated run, which takes ten times as long,
    but at most `bursts_s` seconds.
    """
    options = ["--quiet", "-o", str(output), "--llc", f"{llc_bytes}B", "--repetitions", "1"]
    if qemu_user.installed():
        options += ["--bursts", "--sample", f"{bursts_s}s"]
    run_tool(["profile", *options, "--", *command])
    return load_profile(output)


def load_profile(output: Path) -> WorkloadProfile:
    """Return the profile in a file with at most `MAX_BURSTS` bursts, evenly chosen."""
    workload = load(output, WorkloadProfile)
    if workload.bursts is None:
        return workload
    phases = [
        msgspec.structs.replace(
            phase, bursts=phase.bursts[:: max(1, -(-len(phase.bursts) // MAX_BURSTS))]
        )
        for phase in workload.bursts.phases
    ]
    return msgspec.structs.replace(
        workload, bursts=msgspec.structs.replace(workload.bursts, phases=phases)
    )


def _build(name: str, folder: Path) -> Kernel:
    program = folder / name
    sources = [FOLDER / f"{name}.c", *sorted((FOLDER / "harness").glob("*.c"))]
    options = [OPTIMISATION, "-std=gnu11", f"-I{FOLDER / 'harness'}", f"-I{include_folder()}"]
    run_tool(["cc", *options, *map(str, sources), "-o", str(program)])
    # The plain file needs another folder, because it has the instrumented file's name.
    plain = extract_plain(program, folder / "plain")
    if plain is None:
        raise NearfarError(f"{program} contains no plain build of itself")
    return Kernel(name, program, plain)


def run_tool(words: Sequence[str]) -> None:
    """Run a verb of nearfar; raises NearfarError with its message."""
    # The tool stays in this process group, so that Ctrl-C reaches it too; it ends its children.
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return
    errors = done.stderr.strip().splitlines()
    message = next((line for line in reversed(errors) if line.startswith("nearfar: ")), "")
    message = message.removeprefix("nearfar: ") or (errors or ["it printed no error"])[-1]
    known = {int(code) for code in ExitCode} - {0, 1}
    code = ExitCode(done.returncode) if done.returncode in known else ExitCode.PROGRAM_FAILED
    raise NearfarError(message, code)


def _in_parallel(
    work: Callable[[T], U], items: Sequence[T], tell: Callable[[float], None]
) -> list[U]:
    """Return the results of `work` for all items; the first failure cancels the rest."""
    workers = max(len(os.sched_getaffinity(0)), 1)
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                tell(done / len(futures))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in futures]
