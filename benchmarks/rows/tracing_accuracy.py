"""Accuracy of sampled misses: against full simulation, cachegrind, closed forms.

A cache of 1 MiB is simulated, so that small footprints miss like large ones on a real cache and
cachegrind is fast. Counts are of the kernel phase.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.kernel_runs import build

SECONDS = 40
COMPUTES = True

CACHE = "1MiB"
WAYS = 16
LOADS = {
    "chase": (1 << 18, 8),
    "hash": (1 << 20, 10),
    "triad": (1 << 19, 8),
    "spmv": (1 << 17, 2),
    "unordered_map": (1 << 18, 12),
    "gather": (1 << 21, 2),
    "gups": (1 << 21, 4),  # even: an additional round, which cachegrind counts, undoes an odd one
}
"""(size, repetitions): about 2 million misses each, so that chance at 1/64 is below 1 %."""

FUNCTION = {
    "chase": "chase",
    "hash": "look_up_all",
    "triad": "triad",
    "spmv": "multiply",
    "unordered_map": "look_up_all",
    "gather": "gather",
    "gups": "update",
}
"""The function cachegrind counts."""

CLOSED_FORMS = {
    # A cycle longer than the cache, in least-recently-used order: every step misses.
    "chase": lambda size, repetitions: size * repetitions,
    # Three arrays of `size` doubles, 8 per line, none of which stays cached until the next round.
    "triad": lambda size, repetitions: 3 * size / 8 * repetitions,
}


@dataclass(frozen=True)
class Misses:
    """Holds the misses of a run's kernel phase."""

    total: float
    by_object: dict[str, float]
    by_instruction: dict[tuple[str, str, int, int], float]

    def object_errors(self, true: Misses) -> list[float]:
        """Return the relative error of each object that has at least 1 % of the true misses."""
        return _errors(self.by_object, true.by_object, true.total, len(true.by_object))

    def instruction_errors(self, true: Misses) -> list[float]:
        """Return the relative errors of the ten instructions with most misses."""
        return _errors(self.by_instruction, true.by_instruction, true.total, 10)


def _errors(ours: dict, true: dict, total: float, most: int) -> list[float]:  # type: ignore[type-arg]
    largest = sorted(true, key=lambda key: -true[key])[:most]
    # An instruction with less than 1 % of all misses is noise to the profile's reader.
    return [abs(ours.get(key, 0) / true[key] - 1) for key in largest if true[key] > total / 100]


@functools.cache
def kernel_misses(name: str, rate: int) -> Misses:
    """Profile kernel `name` built at `rate` and return its kernel phase's misses."""
    kernel = build(name, rate)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        command = [sys.executable, "-m", "nearfar", "profile", "--quiet", "-o", str(output)]
        command += ["--repetitions", "1", "--llc", CACHE, "--ways", str(WAYS), "--"]
        command += [str(kernel.traced), *map(str, LOADS[name])]
        subprocess.run(command, check=True, capture_output=True)
        profile = json.loads(output.read_text())
    phase = next(phase for phase in profile["phases"] if phase["name"] == "kernel")
    by_object: dict[str, float] = {}
    for entry in phase["objects"]:
        traffic = entry["traffic"]
        misses = sum(traffic["read_misses"].values()) + sum(traffic["write_misses"].values())
        by_object[profile["objects"][entry["object"]]["name"]] = misses
    by_instruction: dict[tuple[str, str, int, int], float] = {}
    for entry in phase["instructions"]:
        instruction = profile["instructions"][entry["instruction"]]
        # Columns too: a[i] and b[i] of one line are two instructions.
        place = tuple(instruction[key] for key in ("function", "file", "line", "column"))
        by_instruction[place] = by_instruction.get(place, 0) + entry["misses"]
    return Misses(sum(by_object.values()), by_object, by_instruction)


def cachegrind_misses(name: str) -> float:
    """Return cachegrind's last-level data misses of the kernel's function.

    Its first level is two lines (its minimum), so that nearly all accesses reach the last level, as
    in our simulation of that level alone.
    """
    kernel = build(name)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out"
        command = ["valgrind", "-q", "--tool=cachegrind", f"--cachegrind-out-file={output}"]
        command += [f"--LL={1 << 20},{WAYS},64", "--D1=128,2,64", "--cache-sim=yes"]
        command += [str(kernel.plain), *map(str, LOADS[name])]
        subprocess.run(command, check=True, capture_output=True)
        return _function_misses(output.read_text(), FUNCTION[name])


def _function_misses(text: str, function: str) -> float:
    misses = 0
    events: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            inside = function in line
        elif inside and line[:1].isdigit():
            counts = dict(zip(events, map(int, line.split()[1:]), strict=False))
            misses += counts.get("DLmr", 0) + counts.get("DLmw", 0)
    return float(misses)


def rows() -> Iterator[Row]:
    """Yield errors of sampling, then of the full simulation."""
    for name in LOADS:
        sampled, true = kernel_misses(name, 64), kernel_misses(name, 1)
        yield _row(f"misses per object, {name}, worst", max(sampled.object_errors(true)))
        yield _row(
            f"misses per top-10 instruction, {name}, worst", max(sampled.instruction_errors(true))
        )
    for name in LOADS:
        peer = cachegrind_misses(name)
        error = 100 * abs(kernel_misses(name, 1).total / peer - 1)
        yield _row(f"full simulation, {name}", error / 100, "cachegrind --LL, same cache", peer)
    for name, form in CLOSED_FORMS.items():
        known = form(*LOADS[name])
        error = abs(kernel_misses(name, 1).total / known - 1)
        yield _row(f"full simulation, {name}, closed form", error, "misses by closed form", known)


def _row(
    name: str, error: float, peer: str = "rate 1, every access", count: float | None = None
) -> Row:
    row = make_row(
        name,
        100 * error,
        "% error",
        bar=3,
        peer=peer,
        command="make benchmarks ONLY=tracing_accuracy",
    )
    row.peer_value = count
    return row
