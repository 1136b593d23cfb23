"""The cost of tracing: the kernel phase under `nearfar profile` against the plain build.

And the cost of being instrumented: the same build run by itself.

The peer is cachegrind on the plain build, in the same run, with fewer repetitions or, where set-up
dominates, a smaller size; its slowdown is relative to a plain run of the same size.
"""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import Row, alternate, geometric_mean, make_row, paired_ratio
from benchmarks.kernel_runs import (
    Kernel,
    build,
    cachegrind_seconds,
    plain_seconds,
    traced_seconds,
    untraced_seconds,
)
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import write_atomically

SECONDS = 220

REPETITIONS = 5
"""Pairs of neighbours in time; the median of their ratios moves by about 3 % between runs."""
CURVE = Path("build/tracing_curve.json")
CURVE_RATES = (16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Load:
    """Holds a kernel's (size, repetitions) here, for nearfar and for cachegrind."""

    ours: tuple[int, int]
    peer: tuple[int, int]
    memory_bound: bool = True


# Footprints of at least 128 MiB, beyond any cache here, and 0.1 to 1 s of plain time each.
LOADS = {
    "chase": Load((1 << 21, 1), (1 << 19, 1)),
    "hash": Load((1 << 23, 2), (1 << 20, 1)),
    "triad": Load((8 << 20, 12), (1 << 20, 1)),
    "spmv": Load((1 << 19, 3), (1 << 16, 1)),
    "btree": Load((1 << 19, 1), (1 << 15, 1)),
    "unordered_map": Load((1 << 21, 3), (1 << 18, 1)),
    "gather": Load((16 << 20, 2), (1 << 20, 1)),
    "gups": Load((16 << 20, 2), (1 << 20, 1)),
    "column": Load((64, 20), (16, 1)),
    "join": Load((1 << 20, 1), (1 << 16, 1)),
    "sort": Load((4 << 20, 1), (1 << 17, 1), memory_bound=False),
    "matmul": Load((256, 60), (256, 1), memory_bound=False),
}
# A kernel for each effect of rates: dependent, scattered, streams with gathers, in cache.
CURVE_KERNELS = ("hash", "spmv", "unordered_map", "matmul")


def rows() -> Iterator[Row]:
    """Yield a row per kernel, the means and the curve's default."""
    if shutil.which("valgrind") is None:
        raise NearfarError("valgrind is not installed: run `make setup`", ExitCode.MACHINE_LACKS)
    slowdowns: dict[str, float] = {}
    untraced: dict[str, float] = {}
    peers: dict[str, float] = {}
    for name, load in LOADS.items():
        kernel = build(name)
        slowdowns[name], untraced[name] = slowdowns_of(kernel, load.ours, REPETITIONS)
        peers[name] = cachegrind_seconds(kernel, *load.peer) / plain_seconds(kernel, *load.peer)
        yield _row(f"tracing slowdown, {name}", slowdowns[name], peers[name], bar=1.5)
    memory_bound = [name for name, load in LOADS.items() if load.memory_bound]
    yield _row(
        "tracing slowdown, geometric mean of memory-bound kernels",
        geometric_mean([slowdowns[name] for name in memory_bound]),
        geometric_mean([peers[name] for name in memory_bound]),
        bar=1.15,
    )
    yield make_row(
        "instrumented program that is not traced, geometric mean of memory-bound kernels",
        geometric_mean([untraced[name] for name in memory_bound]),
        "x plain",
        bar=1.05,
        peer="plain build",
        command="make benchmarks ONLY=tracing",
    )
    worst = max(slowdowns, key=lambda name: slowdowns[name])
    yield _row("tracing slowdown, worst", slowdowns[worst], peers[worst], bar=1.5, note=worst)
    yield from _curve(slowdowns)


def slowdowns_of(kernel: Kernel, load: tuple[int, int], repetitions: int) -> tuple[float, float]:
    """Return the kernel phase's CPU time over its plain one: traced, and not traced."""
    runs = (plain_seconds, traced_seconds, untraced_seconds)
    plain, traced, untraced = alternate([partial(run, kernel, *load) for run in runs], repetitions)
    return paired_ratio(traced, plain), paired_ratio(untraced, plain)


def _row(name: str, value: float, peer: float, bar: float, note: str = "") -> Row:
    return make_row(
        name,
        value,
        "x plain",
        bar=bar,
        peer="valgrind --tool=cachegrind",
        peer_value=peer,
        command="make benchmarks ONLY=tracing",
        note=note,
    )


def _curve(at_default: dict[str, float]) -> Iterator[Row]:
    """Yield cost and error by rate, and the row that shows why 64 is the default."""
    from benchmarks.rows.tracing_accuracy import LOADS as ACCURACY_LOADS
    from benchmarks.rows.tracing_accuracy import kernel_misses

    points = []
    kernels = [name for name in CURVE_KERNELS if name in ACCURACY_LOADS]
    true = {name: kernel_misses(name, 1) for name in kernels}
    for rate in CURVE_RATES:
        costs = {
            name: at_default[name]
            if rate == 64
            else slowdowns_of(build(name, rate), LOADS[name].ours, 3)[0]
            for name in CURVE_KERNELS
        }
        errors = {
            name: abs(kernel_misses(name, rate).total / true[name].total - 1) for name in kernels
        }
        by_instruction = [
            error
            for name in kernels
            for error in kernel_misses(name, rate).instruction_errors(true[name])
        ]
        points.append(
            {
                "rate": rate,
                "slowdown": costs,
                "slowdown_geometric_mean": geometric_mean(list(costs.values())),
                "miss_error": errors,
                "instruction_error_worst": max(by_instruction),
                "instruction_error_median": statistics.median(by_instruction),
            }
        )
    CURVE.parent.mkdir(exist_ok=True)
    write_atomically(CURVE, json.dumps({"points": points}, indent=1))
    print("rate   slowdown   worst error per instruction")
    for point in points:
        print(
            f"1/{point['rate']:<5}{point['slowdown_geometric_mean']:8.2f} x"
            f"{100 * point['instruction_error_worst']:12.2f} %"
        )
    finest, default = points[0], points[CURVE_RATES.index(64)]
    yield make_row(
        "tracing cost at the default rate 1/64 against 1/16",
        default["slowdown_geometric_mean"],
        "x plain",
        bar=1.0,
        judge="ratio",
        peer="the same at 1/16 (both errors in build/tracing_curve.json)",
        peer_value=finest["slowdown_geometric_mean"],
        command="make benchmarks ONLY=tracing",
    )
