"""The cost of measuring: a quick one as a whole, and the time outside of the kernels' loops.

Of every call of `Sampler.sample`, the part outside of a kernel's loop (warm-up included) counts:
pinning, starting other threads and waiting for them, clocks between passes, the path through
Python, checks for stolen time, conversion of ticks to ns. Clocks between the parts of a timed
stretch, 1 us per half millisecond, count as loop. Set-up is left out: a measurement maps and links
memory, and chooses instruction sets, only once. The points are of every kind in a quick
measurement, in its proportions.
All times are wall time: where other programs need the cores, their delays count as outside, and the
median over rounds holds for that machine in that state. The lower quartile, printed next to it, is
close to the harness' own time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks import Row, make_row, wall_seconds
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint

SECONDS = 75

ROUNDS = 7
MOST_PERCENT = 1.0
QUICK_S = 20.0
"""Bar of a whole measurement with --quick, s, from the start of the interpreter on."""


def rows() -> Iterator[Row]:
    """Yield the whole time of two quick measurements, and the share outside of the loops."""
    from nearfar.measure.open_subject import open_memory
    from nearfar.measure.sampler import Sampler
    from nearfar.options.measure import MemoryOptions

    for memory in ("dram", "model:optane-100-1dimm"):
        yield _quick(memory)
    sampler = open_memory(MemoryOptions(largest="256MiB"), quick=True).subject
    assert isinstance(sampler, Sampler)
    kinds = points(sampler.facts())
    spent = {
        kind: [_spent(sampler, chosen) for _ in range(ROUNDS)] for kind, chosen in kinds.items()
    }
    total = [
        sum(outside for outside, _ in of_round) / sum(all_s for _, all_s in of_round)
        for of_round in zip(*spent.values(), strict=True)
    ]
    yield _row("all points of a quick measurement", statistics.median(total), MOST_PERCENT)
    for kind, of_kind in spent.items():
        shares = [100 * outside / all_s for outside, all_s in of_kind]
        low, middle, _ = statistics.quantiles(shares, n=4, method="inclusive")
        print(f"  {kind}: {middle:.2f} % outside the loops, lower quartile {low:.2f} %")


def _quick(memory: str) -> Row:
    """Return the row of one whole measurement, whose noise is accepted."""
    command = [sys.executable, "-m", "nearfar", "measure", memory, "--quick", "--accept-noise"]
    command += ["--no-samples", "--json", "--quiet"]
    run = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True)
    return make_row(
        f"measure {memory} --quick",
        wall_seconds(run),
        "s",
        bar=QUICK_S,
        peer="",
        command="make benchmarks ONLY=harness",
    )


def points(facts: SubjectFacts) -> dict[str, list[SamplePoint]]:
    """Return points by kind."""
    page, most, buffer = facts.page_sizes[0], facts.largest_bytes, facts.buffer_bytes
    regions = [most >> shift for shift in range(0, 14, 2)]
    results = {
        "idle latency": [
            SamplePoint("latency", kernel, page, region)
            for kernel in ("chase", "chase-sequential")
            for region in regions
        ],
        "chains": [SamplePoint("chains", "chains", page, most, chains=k) for k in (1, 2, 4, 8, 16)],
        "bandwidth": [
            SamplePoint("bandwidth", kernel, page, buffer, threads=threads)
            for kernel in ("read", "write", "nt-store", "read-random", "mixed")
            for threads in (1, facts.threads)
        ],
        "persist": [
            SamplePoint("persist", kernel, page, most)
            for kernel in ("persist-clwb", "persist-nt-store")
            if kernel in facts.kernels
        ],
        "each": [SamplePoint("latency", "chase", page, most, each=True)],
    }
    if facts.threads > 1:
        results["loaded latency"] = [
            SamplePoint(
                "loaded", "chase", page, most, generator="mixed", pause_ns=pause, read_share=1
            )
            for pause in (2000.0, 200.0, 50.0, 0.0)
        ]
    return results


def _spent(sampler: object, chosen: list[SamplePoint]) -> tuple[float, float]:
    """Return (seconds outside of the loops, all seconds) for one sample of each point."""
    from nearfar.measure.sampler import Sampler

    assert isinstance(sampler, Sampler)
    outside = whole = 0.0
    for point in chosen:
        loops_s, set_up_s = sampler.loops_s, sampler.set_up_s
        start = time.perf_counter()
        sampler.sample(point)
        took = time.perf_counter() - start - (sampler.set_up_s - set_up_s)
        whole += took
        outside += took - (sampler.loops_s - loops_s)
    return outside, whole


def _row(what: str, share: float, bar: float) -> Row:
    return make_row(
        f"harness: time outside the kernels' loops, {what}",
        100 * share,
        "%",
        bar=bar,
        peer="",
        command="make benchmarks ONLY=harness",
    )
