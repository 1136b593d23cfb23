"""Comparisons: the rate of false alarms, and of detected slowdowns of 5 %.

The noise is this machine's: a run is timed some thousand times, consecutive runs are assigned to A
and B, and in some pairs every time of B is made 5 % longer. The assignment is random, because runs
in one process have a rhythm (of four, here) that alternation would give to one side.

No test finds what the noise hides: of 5 % among runs that spread by 14 % as the normal distribution
does, the best one finds a fifth. So the peer is a test that knows the noise and the slowdown.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from benchmarks import Row, make_row
from nearfar.compare.api import judge
from nearfar.compare.difference import ALPHA
from nearfar.compare.kind import ComparedValue
from nearfar.options.simulate import SimulateOptions
from nearfar.sim.from_device import from_device
from nearfar.sim.simulate import simulate_pattern

SECONDS = 40

ALIKE, UNLIKE = 200, 50
RUNS = 12
"""Runs per side, as usual in continuous integration."""
SLOWER = 1.05
LIMIT = 0.02
"""`--fail-over`: the difference is measured with an error, so the limit is below the difference to
be detected."""
POSSIBLE_PERCENT = 60.0
"""Where the best test finds fewer of the slowdowns, the noise hides them, and none is asked for."""
SHARE_OF_POSSIBLE = 0.8
COMMAND = "ONLY=compare python -m benchmarks"


def rows() -> Iterable[Row]:
    """Time, pair, and count alarms."""
    series = timed_runs((ALIKE + UNLIKE) * 2 * RUNS)
    pairs = [series[i : i + 2 * RUNS] for i in range(0, len(series), 2 * RUNS)]
    rng = random.Random(1)
    for pair in pairs:
        rng.shuffle(pair)
    equal = [verdicts(pair, 1.0) for pair in pairs[:ALIKE]]
    slower = [verdicts(pair, SLOWER) for pair in pairs[ALIKE:]]
    welch = [
        stats.ttest_ind(
            pair[:RUNS], [SLOWER * each for each in pair[RUNS:]], equal_var=False
        ).pvalue
        < ALPHA
        for pair in pairs[ALIKE:]
    ]
    spread = statistics.median(statistics.pstdev(p) / statistics.median(p) for p in pairs)
    noise = f"{RUNS} runs of each side, which spread by {spread:.1%}"
    yield make_row(
        f"alarms on {ALIKE} pairs of the same program",
        100.0 * sum(differs for differs, _ in equal) / len(equal),
        "%",
        bar=5.0,
        peer="the tests' own level",
        peer_value=5.0,
        command=COMMAND,
        note=noise,
    )
    possible = 100.0 * found_by_likelihood(pairs[:ALIKE], pairs[ALIKE:])
    found = 100.0 * sum(over for _, over in slower) / len(slower)
    yield found_row(found, possible, 100.0 * sum(welch) / len(welch))


def found_row(found: float, possible: float, welch: float) -> Row:
    """Return the row on slowdowns found, in percent: by us, by the best test, by Welch's test."""
    hidden = possible < POSSIBLE_PERCENT
    return make_row(
        f"{UNLIKE} slowdowns of 5 %: found with --fail-over 2%",
        found,
        "%",
        bar=None if hidden else SHARE_OF_POSSIBLE * possible,
        at_most=False,
        peer="a likelihood ratio test that knows the noise and the slowdown",
        peer_value=possible,
        command=COMMAND,
        note=f"by Welch's t test {welch:.0f} %"
        + ("; not judged: the noise lets no test find them reliably" if hidden else ""),
    )


def found_by_likelihood(
    equal: Sequence[Sequence[float]], slower: Sequence[Sequence[float]]
) -> float:
    """Return the share of slowdowns that a test finds which knows the noise and the slowdown.

    The noise is that of half of the equal pairs; the other half sets the level of false alarms.
    """
    delta = np.log(SLOWER)
    logs = [np.log(pair) - np.log(np.median(pair)) for pair in (*equal, *slower)]
    known = np.concatenate(logs[: len(equal) : 2])
    grid = np.linspace(known.min() - 2 * delta, known.max() + 2 * delta, 4001)
    density = np.log(stats.gaussian_kde(known)(grid) + 1e-12)
    centers = np.linspace(-2 * delta, 2 * delta, 41)

    def likelihood(log: np.ndarray, shift: float) -> float:
        shifted = log - shift * (np.arange(len(log)) >= RUNS)
        return max(float(np.interp(shifted - at, grid, density).sum()) for at in centers)

    def ratio(log: np.ndarray, slowdown: float) -> float:
        slowed = log + slowdown * (np.arange(len(log)) >= RUNS)
        return likelihood(slowed, delta) - likelihood(slowed, 0.0)

    level = np.quantile([ratio(log, 0.0) for log in logs[1 : len(equal) : 2]], 1.0 - ALPHA)
    return float(np.mean([ratio(log, delta) > level for log in logs[len(equal) :]]))


def timed_runs(count: int) -> list[float]:
    """Return the wall times, ns, of `count` runs of a piece of work of some milliseconds."""
    from nearfar.devices.library import load_device

    model = from_device(load_device("optane-100-6dimm"))
    request = SimulateOptions(device="optane-100-6dimm", pattern="random", lines=LINES)
    times = []
    for _ in range(count + 2 * RUNS):
        begun = time.perf_counter_ns()
        simulate_pattern(request, model)
        times.append(float(time.perf_counter_ns() - begun))
    return times[2 * RUNS :]


LINES = 300_000
"""Lines per run: 6 ms."""


def verdicts(times: list[float], factor: float) -> tuple[bool, bool]:
    """Return whether A and B are reported to differ, and whether B is over the limit."""
    sides = times[:RUNS], [factor * each for each in times[RUNS:]]
    a, b = (
        ComparedValue("time", "run", "ns", statistics.median(side), samples=tuple(side), timed=True)
        for side in sides
    )
    (change,) = judge([(a, b)], limit=LIMIT, correction="holm", same_machine=True)
    return change.verdict != "same", change.over_limit
