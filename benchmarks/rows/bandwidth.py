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
Either bandwidth is the sum of the threads', each by the time of its own loop. likwid-bench divides
all bytes by the time of its slowest thread: beside neighbours, one of two threads is often 10 %
slower, and the result up to 8 % lower. So the library also times each thread, and it cuts short the
second in which likwid-bench calibrates a clock of its own. That gives time for enough pairs: beside
noisy neighbours, single runs spread by 30 %.
Each kernel has the same time. Beside a last level of 300 MiB a pair takes three times as long as
beside 32 MiB, because likwid-bench maps and fills larger arrays in each run.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import Row, make_row
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.statistics import median_estimate
from nearfar.measure.fastest_isa import QUICK_ROUNDS, FastestIsa, fastest_in_turns

if TYPE_CHECKING:
    from nearfar._measure import Memory

SECONDS = 165

TRIALS_S, PAIRS_S = 3.0, 8.5
"""Time of each kernel's turns of likwid-bench's tests, of which slow ones drop out, and of the runs
of the fastest."""
LEAST_PAIRS = 9
"""Runs of the fastest, even if they take longer."""

MIN_REGION_BYTES = 256_000_000
"""Least size of all arrays together: seven times a last-level cache of 32 MiB. They are at least
twice the last level, because what stays in it depends on how a kernel walks."""

PLACED = "nearfar: placed all arrays"
"""Line on stderr of bandwidth_pages.c once likwid-bench has asked for its last array."""
TOOK = re.compile("nearfar: a thread took ([0-9]+) ns")
"""Line on stderr of bandwidth_pages.c for each thread's loop."""

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
        pages, fastest = SharedPages(Path(folder), region_bytes), FastestIsa()
        for threads, kernels in ((1, TESTS), (2, TWO_THREADS)):
            for kernel in kernels if threads <= len(cpus) else ():
                tests = [TESTS[kernel][0] + suffix for suffix in SUFFIXES[isa]]
                tests = [test for test in tests if test in known]
                yield _row(pages, fastest, kernel, tests, cpus[:threads])
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

    def run(self, command: Sequence[str], arrays: int) -> tuple[str, list[int]]:
        """Run likwid-bench with its arrays where ours are.

        Returns what it prints, and the time of each thread's loop, ns.
        """
        places = [self.size_bytes, *(self.step_bytes(arrays) * i for i in range(arrays))]
        environment = os.environ | {
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
        return done.stdout, [int(took) for took in TOOK.findall(done.stderr)]


def _row(
    pages: SharedPages,
    fastest: FastestIsa,
    kernel: str,
    tests: Sequence[str],
    cpus: tuple[int, ...],
) -> Row:
    arrays = TESTS[kernel][1]
    our_run = partial(our_gb_per_s, pages.memory, fastest, kernel, cpus)
    runs = {name: partial(likwid_gb_per_s, pages, name, arrays, cpus) for name in tests}
    end_s = time.monotonic() + TRIALS_S
    test = fastest_in_turns(runs, lambda rounds: rounds < QUICK_ROUNDS or time.monotonic() < end_s)
    pairs = alternate_with(our_run, runs[test])
    ratios = pairs.ratios()
    ratio, peers = median_estimate(ratios), pairs.peers
    threads = f"{len(cpus)} thread{'s' if len(cpus) > 1 else ''}"
    row = make_row(
        f"bandwidth of {kernel}, {threads}",
        100 * abs(ratio.value - 1),
        "% off",
        bar=3,
        peer=f"likwid-bench -t {test}, its fastest of {len(tests)}",
        command="make benchmarks ONLY=bandwidth",
        note=f"{upper_quartile(pairs.ours):.2f} GB/s with {fastest.chosen(kernel)}, likwid-bench "
        f"{upper_quartile(peers):.2f}; ratio of {len(ratios)} pairs {ratio.value:.3f}, "
        f"{ratio.low:.3f} to {ratio.high:.3f}; quartiles of likwid-bench's runs "
        f"{_spread(peers):.2f} times apart",
    )
    row.ratio = ratio.value
    return row


def our_gb_per_s(memory: Memory, fastest: FastestIsa, kernel: str, cpus: tuple[int, ...]) -> float:
    """Return GB/s of payload of our kernel, all threads together, by the clock."""
    from nearfar import _measure

    isa = fastest.of_kernel(kernel, cpus[0], memory)
    workers = [
        _measure.Worker(cpu, kernel, memory, part=part, parts=len(cpus), isa=isa)
        for part, cpu in enumerate(cpus)
    ]
    # By the clock, as in likwid-bench: preemption of one of the two would otherwise be a
    # difference.
    together = _measure.together(workers, RUN_S * 1e9, RUN_S / 5 * 1e9, by_clock=True)
    return float(sum(item.gb_per_s for item in together.each))


@dataclass(frozen=True)
class Alternated:
    """Holds GB/s of ours, and the peer's; each of the latter is between two of ours."""

    ours: list[float]
    peers: list[float]

    def ratios(self) -> list[float]:
        """Return ours, before and after, over each run of the peer."""
        return [
            (before + after) / 2 / peer
            for (before, after), peer in zip(pairwise(self.ours), self.peers, strict=True)
        ]


def alternate_with(ours: Callable[[], float], theirs: Callable[[], float]) -> Alternated:
    """Run A, B, A, B ... A: some of B at least, then until the time is over."""
    kept = [ours()]
    peers: list[float] = []
    begin_s = time.monotonic()
    while len(peers) < LEAST_PAIRS or time.monotonic() - begin_s < PAIRS_S:
        peers.append(theirs())
        kept.append(ours())
    return Alternated(kept, peers)


def _spread(values: Sequence[float]) -> float:
    """Return the upper quartile over the lower."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high / low


def upper_quartile(values: Sequence[float]) -> float:
    """Return the upper quartile, which shows runs with little interference."""
    return statistics.quantiles(values, n=4, method="inclusive")[2]


def likwid_gb_per_s(pages: SharedPages, test: str, arrays: int, cpus: tuple[int, ...]) -> float:
    """Run a likwid-bench test on the same CPUs; return GB/s of payload, all threads together."""
    places = ",".join(map(str, cpus))
    size_kb = pages.step_bytes(arrays) * arrays // 1000
    iterations = max(1, round(LIKWID_BYTES / pages.size_bytes)) * len(cpus)
    command = ["likwid-bench", "-t", test, "-i", str(iterations)]
    command += ["-w", f"N:{size_kb}kB:{len(cpus)}"]
    output, threads_ns = pages.run(command, arrays)
    ran_on = sorted(map(int, re.findall(r"running on hwthread ([0-9]+) -", output)))
    if ran_on != sorted(cpus):
        raise NearfarError(
            f"likwid-bench ran on {ran_on}, not on CPUs {places}: run under taskset -c {places}",
            ExitCode.MACHINE_LACKS,
        )
    volume = re.search(r"Data volume \(Byte\):\s+([0-9]+)", output)
    if volume is None or len(threads_ns) != len(cpus):
        raise NearfarError(
            "this likwid-bench does not print its data volume, or does not time each thread by "
            "liblikwid's timer: install version 5.2",
            ExitCode.MACHINE_LACKS,
        )
    return sum(int(volume[1]) / len(cpus) / ns for ns in threads_ns)
