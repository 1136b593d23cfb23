"""Default plans of real programs beside naive bars, and beside plans that know no ranges.

`benchmarks/range_programs.py` has the programs. The peer's plans are those of the same profiles
without ranges and without interleaved objects of small blocks, as nearfar planned before it counted
traffic inside objects. Times are the model's; PROGRAMS=name,name chooses some of the programs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row, make_row
from benchmarks.range_programs import profile_of, programs
from nearfar.devices.library import load_device
from nearfar.documents import WorkloadProfile
from nearfar.place.problem import make_problem
from nearfar.place.task import PlaceTask

SECONDS = 900
"""Estimated, not measured on a quiet machine: five programs are built, traced and timed."""
LONG = True

COMMAND = "make benchmarks ONLY=ranges"
NEAR, FAR = "ddr4-2666-cascade-lake", "optane-100-6dimm"
BUDGETS = (0.10, 0.25, 0.50)
NAIVE = ("page-interleaved", "bandwidth-interleaved", "hot-first", "x-mem", "greedy")
BETTER = 1.1
ROUNDING = 1e-6


class WithoutRanges(PlaceTask):
    """A task as before traffic was counted by range."""

    @cached_property
    def can_interleave(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """No object."""
        return np.zeros(len(self.problem.names), dtype=bool)

    @cached_property
    def ranged(self) -> None:  # type: ignore[override]
        """No ranges."""
        return


def rows() -> Iterator[Row]:
    """Profile each program once and plan for each budget with and without ranges."""
    only = [name for name in os.environ.get("PROGRAMS", "").split(",") if name]
    worst, gains = 0.0, []
    for name, make in programs().items():
        if only and name not in only:
            continue
        try:
            profile = profile_of(make())
        except RuntimeError as error:
            print(f"  ranges: {name} is left out: {error}")
            continue
        for share in BUDGETS:
            ratio, gain = judged(profile, share, name)
            worst = max(worst, ratio)
            gains.append(gain)
    if not gains:
        print("  ranges: no program can be built here")
        return
    yield make_row(
        f"default plans of {len(gains) // len(BUDGETS)} programs at 10, 25, 50 %: predicted time "
        "over the fastest naive bar's predicted time, worst",
        worst,
        "x",
        bar=1.0 + ROUNDING,
        peer="page-interleaved, bandwidth-interleaved, hot-first, x-mem, greedy",
        command=COMMAND,
    )
    yield make_row(
        "predicted time of plans without ranges over the default plans', geometric mean",
        math.exp(sum(math.log(gain) for gain in gains) / len(gains)),
        "x",
        bar=BETTER,
        at_most=False,
        peer="the same plans without ranges and interleaved small blocks",
        command=COMMAND,
    )


def judged(profile: WorkloadProfile, share: float, name: str) -> tuple[float, float]:
    """Return the plan's time over the best naive bar's, and the earlier plan's over it."""
    problem = make_problem(profile, load_device(NEAR), load_device(FAR))
    budget = int(share * problem.footprint_bytes)
    times = []
    for kind in (PlaceTask, WithoutRanges):
        task = kind(problem, profile, "exact", frozenset()).with_parts_that_pay(budget)
        whole = task.bars(budget)["exact"]
        times.append(task.extended(budget, whole.shares, task.allow).time_ns(problem))
    bars = task.bars(budget)
    naive = {bar: float(problem.shared_times_ns(bars[bar].shares)) for bar in NAIVE}
    near_ns = problem.near_time_ns.value
    slowdowns = ", ".join(f"{bar} {time / near_ns:.2f}" for bar, time in naive.items())
    print(
        f"  ranges: {name} at {share:.0%}: {times[0] / near_ns:.2f} (without ranges "
        f"{times[1] / near_ns:.2f}; {slowdowns})"
    )
    return times[0] / min(naive.values()), times[1] / times[0]
