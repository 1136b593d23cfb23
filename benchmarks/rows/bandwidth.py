"""Peak bandwidth of our kernels next to likwid-bench's, on the same pages, width and threads.

likwid-bench allocates with malloc and requests no huge pages, so its pages depend on the machine's
setting. Both sides run on 4 KiB pages: likwid-bench with huge pages disabled for its process
(prctl), ours on memory that refuses them. Both count payload without reads for ownership.
The clock around all passes times both sides, so other work slows either side: runs are short, many
and alternate, and the upper quartiles are compared, which show runs with little interference.
likwid-bench calibrates its clock in each run, up to 1 % off if it is preempted; the fastest clock
of all runs converts its cycles, because preemption lowers a calibration.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks import Row, make_row
from nearfar.base.errors import ExitCode, NearfarError

SECONDS = 160

PAIRS = 9
"""Runs of each side, in turns; each takes 0.7 s with its set-up."""

REGION_MB = 512
"""Size of all arrays together, 10^6 bytes: many times a core's share of any last-level cache."""

RUN_S = 0.2
ITERATIONS = 10
"""likwid-bench's iterations over the region: 5 GB, about as long on a core with 20-30 GB/s."""

TESTS = {
    "read": "load",
    "write": "store",
    "nt-store": "store_mem",
    "copy": "copy",
    "copy-nt": "copy_mem",
    "stream-triad": "stream",
    "stream-triad-nt": "stream_mem",
    "triad": "triad",
    "triad-nt": "triad_mem",
}
"""Our kernel and likwid-bench's test of the same arrays."""

SUFFIXES = {"avx512": "_avx512", "avx2": "_avx", "sse2": "_sse"}

TWO_THREADS = ("read", "nt-store", "copy", "triad")
"""Kernels that are measured with two threads too, so that all rows end within three minutes."""

PR_SET_THP_DISABLE = 41
"""prctl(2); executed programs inherit it."""


def rows() -> Iterator[Row]:
    """Yield a row for each kernel and number of threads."""
    from nearfar import _measure
    from nearfar.memories.topology import detect

    if shutil.which("likwid-bench") is None:
        raise NearfarError(
            "likwid-bench is not installed: apt-get install likwid", ExitCode.MACHINE_LACKS
        )
    isa = _measure.isas()[0]
    if isa not in SUFFIXES:
        raise NearfarError(
            f"likwid-bench has no {isa} kernels to compare with", ExitCode.MACHINE_LACKS
        )
    cpus = detect().cpus
    for threads, kernels in ((1, TESTS), (2, TWO_THREADS)):
        for kernel in kernels if threads <= len(cpus) else ():
            yield _row(kernel, TESTS[kernel] + SUFFIXES[isa], cpus[:threads])


def _row(kernel: str, test: str, cpus: tuple[int, ...]) -> Row:
    ours, runs = alternate_with(
        partial(our_gb_per_s, kernel, cpus), partial(likwid_run, test, cpus), PAIRS
    )
    clock_hz = max(run.clock_hz for run in runs)
    theirs = [run.gb_per_s(clock_hz) for run in runs]
    ratio = upper_quartile(ours) / upper_quartile(theirs)
    threads = f"{len(cpus)} thread{'s' if len(cpus) > 1 else ''}"
    spread = (max(theirs) - min(theirs)) / max(theirs)
    row = make_row(
        f"bandwidth of {kernel}, {threads}: {upper_quartile(ours):.2f} GB/s, "
        f"likwid-bench {upper_quartile(theirs):.2f} (its own runs differ by {spread:.0%})",
        100 * abs(ratio - 1),
        "% off",
        bar=3,
        peer=f"likwid-bench -t {test}",
        command="make benchmarks ONLY=bandwidth",
    )
    row.ratio = ratio
    return row


def our_gb_per_s(kernel: str, cpus: tuple[int, ...]) -> float:
    """Return GB/s of payload of our kernel, all threads together, by the clock."""
    from nearfar import _measure

    memory = _measure.Memory.anonymous(REGION_MB * 10**6, "4k")
    workers = [
        _measure.Worker(cpu, kernel, memory, part=part, parts=len(cpus))
        for part, cpu in enumerate(cpus)
    ]
    # By the clock, as in likwid-bench: preemption of one of the two would otherwise be a
    # difference.
    together = _measure.together(workers, RUN_S * 1e9, 1e8, by_clock=True)
    return float(sum(item.gb_per_s for item in together.each))


@dataclass(frozen=True)
class LikwidRun:
    """Holds the counts of likwid-bench."""

    payload_bytes: float
    cycles: float
    clock_hz: float
    """Frequency of the counter behind the cycles, as this run measured it."""

    def gb_per_s(self, clock_hz: float) -> float:
        """Return GB/s of payload if the counter runs at `clock_hz`."""
        return self.payload_bytes / self.cycles * clock_hz / 1e9


def alternate_with(
    ours: Callable[[], float], theirs: Callable[[], LikwidRun], pairs: int
) -> tuple[list[float], list[LikwidRun]]:
    """Run A, B, B, A, A, B ...: each side starts equally often."""
    kept: list[float] = []
    runs: list[LikwidRun] = []
    for pair in range(pairs):
        if pair % 2 == 0:
            kept.append(ours())
        runs.append(theirs())
        if pair % 2 == 1:
            kept.append(ours())
    return kept, runs


def upper_quartile(values: Sequence[float]) -> float:
    """Return the upper quartile."""
    return statistics.quantiles(values, n=4, method="inclusive")[2]


def likwid_run(test: str, cpus: tuple[int, ...]) -> LikwidRun:
    """Run a likwid-bench test on the same CPUs."""
    places = ",".join(map(str, cpus))
    command = ["likwid-bench", "-t", test, "-i", str(ITERATIONS * len(cpus))]
    command += ["-w", f"N:{REGION_MB}MB:{len(cpus)}"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=_no_huge_pages,
        check=False,
    )
    counted = [
        re.search(rf"{re.escape(name)}:\s+([0-9.]+)", done.stdout)
        for name in ("Data volume (Byte)", "Cycles", "Cycle Clock")
    ]
    if done.returncode != 0 or None in counted:
        raise NearfarError(
            f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-200:]}",
            ExitCode.MACHINE_LACKS,
        )
    ran_on = sorted(map(int, re.findall(r"running on hwthread ([0-9]+) -", done.stdout)))
    if ran_on != sorted(cpus):
        raise NearfarError(
            f"likwid-bench ran on {ran_on}, not on CPUs {places}: run under taskset -c {places}",
            ExitCode.MACHINE_LACKS,
        )
    volume, cycles, clock = (float(each[1]) for each in counted if each is not None)
    return LikwidRun(volume, cycles, clock)


def _no_huge_pages() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_THP_DISABLE)")
