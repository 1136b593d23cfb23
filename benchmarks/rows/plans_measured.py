"""The order of plans by measurement: huge pages near, pages of 4 KiB far.

Every machine has this physically slower memory: misses beyond the TLB's reach also wait for page
walks. The applications of examples/applications put the named objects in huge pages; every plan
runs in turn with the others, and the model times it from one profile and two measured memories. The
misses model, in which misses never overlap, is the peer.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import Row, make_row
from nearfar.documents import DeviceProfile, load
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import Problem, make_problem
from nearfar_studies.applications import (
    APPLICATIONS,
    MEASURED,
    Application,
    build,
    latencies,
    nearfar,
    only,
    profile,
)

SECONDS = 140
LONG = True
"""It seldom has enough pairs to judge."""

COMMAND = "make benchmarks ONLY=plans_measured"
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
HUGE_BYTES = 2 << 20

SIZES = {"graph": ("2097152", "1"), "index": ("4", "50000"), "cache": ("900000", "200000")}
TIMED = {"graph": ("send", "gather")}
"""Kinds of request whose latencies are added for placement; for other programs, all kinds."""
BUDGETS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
GUIDED = ("exact", "greedy", "hot-first", "x-mem")
ROUNDS = 3
RIGHT_PERCENT = 80.0
MIN_PAIRS = 8
"""Pairs from which the share is judged: a coin reaches the bar with 8 pairs in 3.5 % of cases (7 of
8), with 10 in 5.5 %, and with any other number from 8 on in less than 5 %."""


def rows() -> list[Row]:
    """Return the share of pairs of plans in the right order; none without huge pages."""
    if not SETTING.is_file() or "[never]" in SETTING.read_text():
        print("  plans_measured: this kernel gives no huge pages")
        return []
    right, naive, pairs = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="nearfar-plans-") as name:
        folder = Path(name)
        memories = []
        for spec in ("dram", "dram,pages=4k"):
            into = folder / f"{spec}.json"
            nearfar("measure", spec, *MEASURED, "--quiet", "-o", str(into))
            memories.append(load(into, DeviceProfile))
        for item in APPLICATIONS:
            smaller = replace(item, arguments=SIZES[item.name])
            result = _judge(smaller, folder, memories[0], memories[1])
            print(f"  plans_measured: {item.name}: {result[0]} of {result[2]} pairs")
            right, naive, pairs = (
                a + b for a, b in zip((right, naive, pairs), result, strict=True)
            )
    return [row_of(right, naive, pairs)]


def row_of(right: int, naive: int, pairs: int) -> Row:
    """Return the row on pairs in the right order by the model and by the misses model."""
    few = pairs < MIN_PAIRS
    return make_row(
        "order of plans by measurement, three applications, 2 MiB near, 4 KiB pages far: right of "
        "the pairs that differ by more than the noise",
        100.0 * right / max(pairs, 1),
        "%",
        bar=None if few else RIGHT_PERCENT,
        at_most=False,
        peer="the misses model (each miss waits alone)",
        peer_value=100.0 * naive / max(pairs, 1),
        command=COMMAND,
        note="too few pairs to judge: " * few + f"{pairs}",
    )


def _judge(
    one: Application, folder: Path, near: DeviceProfile, far: DeviceProfile
) -> tuple[int, int, int]:
    """Return pairs in the right order by the model and by the misses model, and all pairs."""
    built = build(one, folder)
    workload = only(profile(one, built, folder / "dram.json", "--huge-pages"), one.placed)
    problem = make_problem(workload, near, far, page_bytes=HUGE_BYTES)
    alone = make_problem(workload, near, far, page_bytes=HUGE_BYTES, model="misses")
    plans = _plans(problem)
    times = np.array(
        [[_time_ns(one, built, problem, plan) for plan in plans] for _ in range(ROUNDS)]
    )
    best, second = np.sort(np.log(times), axis=0)[:2]
    noise = float(np.quantile(second - best, 0.95))
    predicted, naive = problem.times_ns(plans), alone.times_ns(plans)
    right, naive_right, pairs = 0, 0, 0
    for i, j in itertools.combinations(range(len(plans)), 2):
        if abs(best[i] - best[j]) <= noise:
            continue
        order = math.copysign(1.0, best[i] - best[j])
        pairs += 1
        right += int(order * (predicted[i] - predicted[j]) > 0)
        naive_right += int(order * (naive[i] - naive[j]) > 0)
    print(f"  plans_measured: {one.name}: all far {math.exp(best[0] - best[-1]):.2f} measured, "
          f"{predicted[0] / predicted[-1]:.2f} predicted, noise {noise:.1%}")  # fmt: skip
    return right, naive_right, pairs


def _plans(problem: Problem) -> np.ndarray:
    """Return near shares of all far, each distinct plan of the optimisers, and all near."""
    results = [
        OPTIMISERS.get(name)().choose(problem, int(share * problem.footprint_bytes)).near_shares
        for share in BUDGETS
        for name in GUIDED
    ]
    # Rows are in numerical order: all far is the first, all near the last.
    ends = [np.zeros(len(problem.names)), np.ones(len(problem.names))]
    return np.unique(np.array([*results, *ends]), axis=0)


def _time_ns(one: Application, built: Path, problem: Problem, near: np.ndarray) -> float:
    names = [problem.names[i].split(", ")[-1] for i in np.flatnonzero(near > 0.5)]
    result = latencies(one, built, f"--huge-pages={','.join(names)}")
    return sum(result[kind].total_ns for kind in TIMED.get(one.name, one.requests))
