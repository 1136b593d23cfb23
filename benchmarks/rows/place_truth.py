"""The order of plans: predictions compared with a simulated core with two memories.

The core (`place_truth.cpp`) is a trace simulator of made-up programs: a cache of native/sim, a
window of loads, miss buffers, stores that wait for nothing, two memories with queues. It does not
use nearfar's models, and they only get what a user would measure and profile on a machine: chains,
bandwidths, each object's misses by class, near time. Both then time all placements of a program
within the same budget. Two orders of the program's accesses show the noise.
This is a simulated machine with made-up programs: `nearfar validate` judges real programs on a real
slower memory where one exists.
"""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from benchmarks import Row, make_row
from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.device import BandwidthFigure, ChainsFigure, LatencyFigure
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Phase, Traffic
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import Problem, make_problem

SECONDS = 40
COMPUTES = True

COMMAND = "make benchmarks ONLY=place_truth"
HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

NEAR = (90.0, 5.3, 8.0)
FARS = {"like Optane": (300.0, 10.0, 32.0), "like CXL": (200.0, 4.0, 4.5)}
"""Latency, ns per line read, ns per line written: round figures of one core's share."""

PROGRAMS = 10
BUDGETS = (0.1, 0.25, 0.5)
OPTIMISERS_TIMED = ("exact", "greedy", "hot-first", "x-mem", "page-interleaved")
RANDOM_PLANS = 4
"""Random plans per budget, because the optimisers' own plans are often similar."""

RIGHT_PERCENT = 80.0


@dataclass
class Judged:
    """Holds pairs that differ by more than the noise, and the number in the right order."""

    pairs: int = 0
    right: int = 0
    naive_right: int = 0


def rows() -> list[Row]:
    """Return the share of pairs in the right order, next to a latency-only model's."""
    with tempfile.TemporaryDirectory(prefix="nearfar-place-truth-") as name:
        program = Path(name) / "truth"
        subprocess.run(
            ["c++", "-std=c++20", "-O2", f"-I{REPOSITORY / 'native'}",
             str(HERE / "place_truth.cpp"), "-o", str(program)],
            check=True,
        )  # fmt: skip
        judged = judge(program, range(1, PROGRAMS + 1))
    print(f"  place_truth: {judged.pairs} pairs that differ by more than the noise")
    return [
        make_row(
            f"order of plans on a simulated core, {PROGRAMS} programs, {len(FARS)} far memories: "
            "pairs in the right order",
            100.0 * judged.right / judged.pairs,
            "%",
            bar=RIGHT_PERCENT,
            at_most=False,
            peer="the misses model (each miss waits alone)",
            peer_value=100.0 * judged.naive_right / judged.pairs,
            command=COMMAND,
        )
    ]


def judge(program: Path, seeds: Sequence[int]) -> Judged:
    """Time all plans of the programs with the model and with the simulator."""
    judged = Judged()
    near = device(program, "near", NEAR)
    for far_name, timing in FARS.items():
        far = device(program, far_name.replace(" ", "-"), timing)
        for seed in seeds:
            _judge_program(program, seed, timing, (near, far), judged)
    return judged


def _judge_program(
    program: Path,
    seed: int,
    timing: tuple[float, float, float],
    memories: tuple[DeviceProfile, DeviceProfile],
    judged: Judged,
) -> None:
    near, far = memories
    workload = profile(program, seed, timing)
    problem = make_problem(workload, near, far, host="published")
    naive = make_problem(workload, near, far, model="misses", host="published")
    by_budget = [plans(problem, share, seed) for share in BUDGETS]
    shares = np.concatenate(by_budget)
    truth = [simulated(program, seed, order, timing, shares) for order in (1, 2)]
    logs = np.log(np.array([row[1:] / row[0] for row in truth]))
    noise = float(np.quantile(np.abs(logs[0] - logs[1]), 0.95))
    times = logs.mean(axis=0)
    predicted, latency_only = problem.times_ns(shares), naive.times_ns(shares)
    start = 0
    for group in by_budget:
        for i, j in itertools.combinations(range(start, start + len(group)), 2):
            if abs(times[i] - times[j]) <= max(noise, 0.005):
                continue
            order = math.copysign(1.0, times[i] - times[j])
            judged.pairs += 1
            judged.right += int(order * (predicted[i] - predicted[j]) > 0)
            judged.naive_right += int(order * (latency_only[i] - latency_only[j]) > 0)
        start += len(group)


def plans(problem: Problem, share: float, seed: int) -> np.ndarray:
    """Return near shares of each distinct placement within a share of the memory."""
    budget = int(share * problem.footprint_bytes)
    results = [
        OPTIMISERS.get(name)().choose(problem, budget).near_shares for name in OPTIMISERS_TIMED
    ]
    rng = random.Random(1000 * seed + round(100 * share))
    for _ in range(RANDOM_PLANS):
        room, near = float(budget), np.zeros(len(problem.names))
        for thing in rng.sample(range(len(problem.names)), len(problem.names)):
            if problem.sizes_bytes[thing] <= room:
                near[thing], room = 1.0, room - problem.sizes_bytes[thing]
        results.append(near)
    return np.unique(np.array(results), axis=0)


def _ask(program: Path, *words: object) -> list[str]:
    text = " ".join(str(word) for word in words)
    done = subprocess.run(
        [str(program)], input=text, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split("\n")


def simulated(
    program: Path, seed: int, order: int, timing: tuple[float, float, float], shares: np.ndarray
) -> np.ndarray:
    """Return the simulator's near time and that of each placement, ns."""
    answer = _ask(program, *NEAR, *timing, "program", seed, order, len(shares), *shares.ravel())
    near_ns, objects = answer[0].split()
    times = answer[1 + int(objects) : 1 + int(objects) + len(shares)]
    return np.array([float(near_ns), *map(float, times)])


def profile(program: Path, seed: int, timing: tuple[float, float, float]) -> WorkloadProfile:
    """Return the counts of a profile of the made-up program."""
    sys.path.insert(0, str(REPOSITORY / "tests/python"))
    import samples

    answer = _ask(program, *NEAR, *timing, "program", seed, 1, 0)
    near_ns, count = float(answer[0].split()[0]), int(answer[0].split()[1])
    workload = samples.workload(objects=count, seed=seed, phases=("run",))
    rows = []
    for number, line in enumerate(answer[1 : 1 + count]):
        pattern, size, accesses, misses, written = line.split()
        item = workload.objects[number]
        item.size_bytes = item.allocated_bytes = item.peak_live_bytes = int(size)
        kind = {"scatter": "indirect", "log": "stream"}.get(pattern, pattern)
        classes = AccessClasses(**{kind: float(misses)})
        stores = pattern in ("scatter", "log")
        sequential = classes if kind == "stream" else AccessClasses()
        rows.append(
            ObjectTraffic(
                object=number,
                traffic=Traffic(
                    accesses=float(accesses),
                    read_misses=AccessClasses() if stores else classes,
                    write_misses=classes if stores else AccessClasses(),
                    read_sequential=AccessClasses() if stores else sequential,
                    write_sequential=sequential if stores else AccessClasses(),
                    write_backs=float(written),
                ),
            )
        )
    phase = Phase(
        name="run",
        near_cpu_time_ns=Estimate(near_ns, 0.99 * near_ns, 1.01 * near_ns),
        near_repetitions=2,
        near_wall_time_ns=near_ns,
        objects=rows,
        instructions=[],
    )
    return msgspec.structs.replace(workload, phases=[phase], instructions=[])


def device(program: Path, name: str, timing: tuple[float, float, float]) -> DeviceProfile:
    """Return micro-benchmark figures of a memory of the simulated core."""
    sys.path.insert(0, str(REPOSITORY / "tests/python"))
    import samples

    def micro(*mode: object) -> float:
        return float(_ask(program, *timing, *timing, *mode)[0])

    chains = {k: micro("chains", k) for k in (1, 2, 4, 8, 16, 32)}
    stream, write = micro("stream"), micro("write")
    had = {"how": "measured", "source": "here"}
    made = samples.device(name)
    return msgspec.structs.replace(
        made,
        latency=[
            LatencyFigure(value_ns=chains[1], **had),
            LatencyFigure(pattern="sequential", value_ns=stream, **had),
        ],
        bandwidth=[
            BandwidthFigure(value_gb_per_s=64.0 / stream, **had),
            BandwidthFigure(value_gb_per_s=64.0 / stream, threads=1, **had),
            BandwidthFigure(pattern="random", value_gb_per_s=64.0 / chains[32], **had),
            BandwidthFigure(operation="write", value_gb_per_s=64.0 / write, **had),
            BandwidthFigure(operation="nt-store", value_gb_per_s=64.0 / timing[2], **had),
        ],
        chains=[ChainsFigure(chains=k, value_ns=value, **had) for k, value in chains.items()],
        loaded_latency=[],
    )
