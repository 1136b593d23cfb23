"""Peak bandwidth of our kernels next to likwid-bench's, in the same pages, places and turns.

Both sides use the arrays of one memory file, of 4 KiB pages unless the machine gives such files
huge ones: a library preloaded into likwid-bench places its arrays where ours are. Two mappings of
fresh pages differ by 18 % here (16.2 and 19.1 GB/s read), whatever they hold.
Both count payload without reads for ownership and are timed by the clock around all passes, so
other work slows either side: our kernel runs briefly before and after each run of likwid-bench, and
the median of the ratios counts.
The peer is the fastest of likwid-bench's vector kernels for the same arrays: its copy_avx overlaps
too many lines on an AMD EPYC (family 25) and is up to 20 % below its copy_sse. A kernel of ours
fails above its peer as it does below: it may count payload that it does not move.
likwid-bench calibrates its clock in each run, up to 1 % off if it is preempted; the fastest clock
of all runs converts its cycles, because preemption lowers a calibration.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import Row, make_row
from nearfar.base.errors import ExitCode, NearfarError

if TYPE_CHECKING:
    from nearfar._measure import Memory

SECONDS = 214

TRIALS = 2
"""Runs of each of likwid-bench's tests, in turns, which find its fastest."""

PAIRS = 5
"""Runs of the fastest. Their smallest and largest ratio are the median's interval of 94 %."""

MIN_REGION_BYTES = 256_000_000
"""Least size of all arrays together: seven times a last-level cache of 32 MiB. They are at least
twice the last level, because what stays in it depends on how a kernel walks."""

PLACED = "nearfar: placed all arrays"
"""Line on stderr of bandwidth_pages.c once likwid-bench has asked for its last array."""

RUN_S = 0.05
LIKWID_BYTES = 10**9
"""Bytes that likwid-bench walks over in one run, about as long on a core with 20 GB/s."""

STAGGER_BYTES = 17 * (4096 + 64)
"""How far our arrays are from equal parts of the memory (native/measure/orders.hpp)."""

TESTS = {
    "read": ("load", 1),
    "write": ("store", 1),
    "nt-store": ("store_mem", 1),
    "copy": ("copy", 2),
    "copy-nt": ("copy_mem", 2),
    "stream-triad": ("stream", 3),
    "stream-triad-nt": ("stream_mem", 3),
    "triad": ("triad", 4),
    "triad-nt": ("triad_mem", 4),
}
"""Our kernel, likwid-bench's test of the same arrays, and how many these are."""

SUFFIXES = {
    "avx512": ("_avx512", "_avx512_fma", "_avx", "_avx_fma", "_sse"),
    "avx2": ("_avx", "_avx_fma", "_sse"),
    "sse2": ("_sse",),
}
"""likwid-bench's kernels that a processor with our widest instruction set can run."""

TWO_THREADS = ("read", "nt-store", "copy", "triad")
"""Kernels that are measured with two threads too, so that all rows end within three minutes."""


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
    listed = subprocess.run(["likwid-bench", "-a"], capture_output=True, text=True, check=True)
    known = {line.split(" ", 1)[0] for line in listed.stdout.splitlines()}
    machine = detect()
    cpus, region_bytes = machine.cpus, max(MIN_REGION_BYTES, 2 * machine.total_llc_bytes)
    with tempfile.TemporaryDirectory() as folder:
        pages = SharedPages(Path(folder), region_bytes)
        for threads, kernels in ((1, TESTS), (2, TWO_THREADS)):
            for kernel in kernels if threads <= len(cpus) else ():
                tests = [TESTS[kernel][0] + suffix for suffix in SUFFIXES[isa]]
                tests = [test for test in tests if test in known]
                yield _row(pages, kernel, tests, cpus[:threads])
        pages.close()


class SharedPages:
    """Memory of both sides."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        from nearfar import _measure

        self.size_bytes = size_bytes // 4096 * 4096
        self._descriptor = os.memfd_create("bandwidth")
        os.truncate(self._descriptor, self.size_bytes)
        self.memory: Memory = _measure.Memory.file(self._descriptor, self.size_bytes, False)
        self._library = str(folder / "pages.so")
        source = str(Path(__file__).with_name("bandwidth_pages.c"))
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", self._library], check=True)

    def close(self) -> None:
        """Close the file; its pages are free once nothing maps them."""
        os.close(self._descriptor)

    def step_bytes(self, arrays: int) -> int:
        """Return the distance of our arrays."""
        return self.size_bytes // 64 // arrays * 64 - (STAGGER_BYTES if arrays > 1 else 0)

    def run(self, command: Sequence[str], arrays: int) -> str:
        """Return what likwid-bench prints, with its arrays where ours are."""
        places = [self.size_bytes, *(self.step_bytes(arrays) * i for i in range(arrays))]
        environment: Mapping[str, str] = os.environ | {
            "LD_PRELOAD": self._library,
            "NEARFAR_PAGES": str(self._descriptor),
            "NEARFAR_PLACES": ",".join(map(str, places)),
        }
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            pass_fds=(self._descriptor,),
            check=False,
        )
        if done.returncode != 0:
            raise NearfarError(
                f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-200:]}",
                ExitCode.MACHINE_LACKS,
            )
        if PLACED not in done.stderr:
            raise NearfarError(
                f"{' '.join(command)} did not take all its arrays from bandwidth_pages.c",
                ExitCode.MACHINE_LACKS,
            )
        return done.stdout


def _row(pages: SharedPages, kernel: str, tests: Sequence[str], cpus: tuple[int, ...]) -> Row:
    arrays = TESTS[kernel][1]
    our_run = partial(our_gb_per_s, pages.memory, kernel, cpus)
    runs = {test: partial(likwid_run, pages, test, arrays, cpus) for test in tests}
    tried = alternate_with(our_run, list(runs.values()), TRIALS).ratios()
    fastest = min(tests, key=lambda test: statistics.median(tried[tests.index(test) :: len(tests)]))
    pairs = alternate_with(our_run, [runs[fastest]], PAIRS)
    ratios = pairs.ratios()
    ratio, peers = statistics.median(ratios), pairs.peer_gb_per_s()
    threads = f"{len(cpus)} thread{'s' if len(cpus) > 1 else ''}"
    row = make_row(
        f"bandwidth of {kernel}, {threads}: {upper_quartile(pairs.ours):.2f} GB/s, likwid-bench "
        f"{upper_quartile(peers):.2f}; ratio {ratio:.3f} ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"likwid-bench's fastest run over its slowest {max(peers) / min(peers):.2f}",
        100 * abs(ratio - 1),
        "% off",
        bar=3,
        peer=f"likwid-bench -t {fastest}, its fastest of {len(tests)}",
        command="make benchmarks ONLY=bandwidth",
    )
    row.ratio = ratio
    return row


def our_gb_per_s(memory: Memory, kernel: str, cpus: tuple[int, ...]) -> float:
    """Return GB/s of payload of our kernel, all threads together, by the clock."""
    from nearfar import _measure

    workers = [
        _measure.Worker(cpu, kernel, memory, part=part, parts=len(cpus))
        for part, cpu in enumerate(cpus)
    ]
    # By the clock, as in likwid-bench: preemption of one of the two would otherwise be a
    # difference.
    together = _measure.together(workers, RUN_S * 1e9, RUN_S / 5 * 1e9, by_clock=True)
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


@dataclass(frozen=True)
class Alternated:
    """Holds GB/s of ours, and the peer's runs; each of these is between two of ours."""

    ours: list[float]
    runs: list[LikwidRun]

    def peer_gb_per_s(self) -> list[float]:
        """Return the peer's GB/s by the fastest clock."""
        clock_hz = max(run.clock_hz for run in self.runs)
        return [run.gb_per_s(clock_hz) for run in self.runs]

    def ratios(self) -> list[float]:
        """Return ours, before and after, over each run of the peer."""
        return [
            (before + after) / 2 / peer
            for (before, after), peer in zip(pairwise(self.ours), self.peer_gb_per_s(), strict=True)
        ]


def alternate_with(
    ours: Callable[[], float], theirs: Sequence[Callable[[], LikwidRun]], rounds: int
) -> Alternated:
    """Run A, B1, A, B2 ... A."""
    kept = [ours()]
    runs: list[LikwidRun] = []
    for run in [*theirs] * rounds:
        runs.append(run())
        kept.append(ours())
    return Alternated(kept, runs)


def upper_quartile(values: Sequence[float]) -> float:
    """Return the upper quartile, which shows runs with little interference."""
    return statistics.quantiles(values, n=4, method="inclusive")[2]


def likwid_run(pages: SharedPages, test: str, arrays: int, cpus: tuple[int, ...]) -> LikwidRun:
    """Run a likwid-bench test on the same CPUs."""
    places = ",".join(map(str, cpus))
    size_kb = pages.step_bytes(arrays) * arrays // 1000
    iterations = max(1, round(LIKWID_BYTES / pages.size_bytes)) * len(cpus)
    command = ["likwid-bench", "-t", test, "-i", str(iterations)]
    command += ["-w", f"N:{size_kb}kB:{len(cpus)}"]
    output = pages.run(command, arrays)
    ran_on = sorted(map(int, re.findall(r"running on hwthread ([0-9]+) -", output)))
    if ran_on != sorted(cpus):
        raise NearfarError(
            f"likwid-bench ran on {ran_on}, not on CPUs {places}: run under taskset -c {places}",
            ExitCode.MACHINE_LACKS,
        )
    counts: list[float] = []
    for name in ("Data volume (Byte)", "Cycles", "Cycle Clock"):
        found = re.search(rf"{re.escape(name)}:\s+([0-9.]+)", output)
        if found is None:
            raise NearfarError(f"likwid-bench printed no {name!r}", ExitCode.MACHINE_LACKS)
        counts.append(float(found[1]))
    return LikwidRun(*counts)
