"""Detection of phases in programs that mark none (`--phases auto`).

The run is cut into short slices, each counted as a phase of its own. Afterwards neighbouring slices
with similar accesses are joined (change points by PELT; Killick et al. 2012), and similar stretches
get the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import format_count
from nearfar.profile.objects import Site, make_objects
from nearfar.profile.run_file import ProcessFile
from nearfar.profile.session import GatheredRuns
from nearfar.profile.slices import SLICE_PREFIX
from nearfar.program.control import PHASE_BEFORE, PHASE_REST
from nearfar.program.phases import PhaseTime, ProfiledRun

Array = NDArray[np.float64]

MIN_SLICES = 8
"""Least number of slices: with fewer, phases cannot be distinguished from noise."""
MIN_PHASE_SLICES = 3
"""Least length of a phase in slices: anything shorter is a transition."""
MAX_DIFFERENT_SHARE = 0.15
"""Share of accesses that may differ between stretches of the same phase."""
MIN_NEAR_SHARE = 0.2
"""Least ratio of near time to traced time of a phase: tracing takes at most 5 times longer."""


def with_detected_phases(gathered: GatheredRuns) -> tuple[GatheredRuns, str]:
    """Join slices to phases; return the changed runs and a sentence about the phases."""
    numbers = [
        number
        for number, name in sorted(gathered.phase_numbers.items())
        if name.startswith(SLICE_PREFIX) or number == PHASE_REST
    ]
    marked = set(gathered.phase_numbers) - {PHASE_BEFORE, *numbers}
    if marked:
        sentence = "the program marks phases itself, so none were detected"
        return _unsliced(gathered, numbers), sentence
    _, object_of = make_objects(gathered.files)
    shares, accesses = _activity(gathered.files, object_of, numbers)
    active = [at for at, count in enumerate(accesses) if count > 0]
    kind_of = phase_of_slices(shares[active])
    count = max(kind_of, default=0) + 1
    names = [f"phase {kind + 1}" for kind in range(count)]
    # A slice without any access belongs to the phase of the slice before it.
    phase_of: dict[int, int] = {}
    for at, number in enumerate(numbers):
        before = [k for k, place in enumerate(active) if place <= at]
        phase_of[number] = kind_of[before[-1]] if before else 0
    firsts = [next(n for n in numbers if phase_of[n] == kind) for kind in range(count)]
    for file in gathered.files:
        _relabel(file, {n: firsts[kind] for n, kind in phase_of.items()})
    traced = _traced_times(gathered, phase_of, names)
    accesses_of_phase = np.zeros(count)
    for at, number in enumerate(numbers):
        accesses_of_phase[phase_of[number]] += accesses[at]
    runs = [_divided(run, traced, accesses_of_phase, names) for run in gathered.plain_runs]
    sentence = (
        f"{format_count(count, 'phase')}, detected by the objects accessed: the program marks none;"
        " they divide the plain runs' time as they divide traced time less the cost of tracing"
    )
    changed = replace(
        gathered,
        plain_runs=runs,
        instrumented=ProfiledRun(gathered.instrumented.outcome, traced),
        phase_numbers=dict(zip(firsts, names, strict=True)),
    )
    return changed, sentence


def _unsliced(gathered: GatheredRuns, numbers: Sequence[int]) -> GatheredRuns:
    """Return the runs with all slices joined to the unmarked phase."""
    for file in gathered.files:
        _relabel(file, dict.fromkeys(numbers, PHASE_REST))
    names = gathered.phase_numbers
    remainder = PhaseTime()
    for number in numbers:
        time = gathered.instrumented.phases.get(names[number], PhaseTime())
        remainder.cpu_ns += time.cpu_ns
        remainder.wall_ns += time.wall_ns
    kept = {n: name for n, name in names.items() if n not in numbers}
    sliced = {names[number] for number in numbers}
    times = {k: v for k, v in gathered.instrumented.phases.items() if k not in sliced}
    return replace(
        gathered,
        instrumented=ProfiledRun(
            gathered.instrumented.outcome, {names[PHASE_REST]: remainder, **times}
        ),
        phase_numbers={PHASE_REST: names[PHASE_REST], **kept},
    )


def _activity(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int], numbers: Sequence[int]
) -> tuple[Array, Array]:
    """Return the shares of each slice's accesses, and the number of its accesses.

    Shares have a row for each slice, and two columns for each object: misses and hits.
    """
    index = {number: at for at, number in enumerate(numbers)}
    counts = np.zeros((len(numbers), 2 * (max(object_of.values(), default=0) + 1)))
    for process, file in enumerate(files):
        for row in file.counters:
            key = int(row["key"])
            phase, site, instruction = key >> 48, key >> 32 & 0xFFFF, key & 0xFFFFFFFF
            number_of_object = object_of.get((process, site))
            if number_of_object is None or phase not in index or instruction == 0:
                continue
            misses = int(row["read_misses"]) + int(row["write_misses"])
            counts[index[phase], 2 * number_of_object] += misses
            counts[index[phase], 2 * number_of_object + 1] += max(0, int(row["accesses"]) - misses)
    total = counts.sum(axis=1)
    return counts / np.maximum(total, 1.0)[:, None], total


def phase_of_slices(shares: Array) -> list[int]:
    """Return the phase of each slice, numbered in order of first appearance."""
    slices = len(shares)
    if slices < MIN_SLICES:
        return [0] * slices
    import ruptures

    # Noise of a slice, estimated from neighbours, most of which are in the same phase.
    noise = float(np.median((np.diff(shares, axis=0) ** 2).sum(axis=1))) / 2
    penalty = 3 * max(noise, (MAX_DIFFERENT_SHARE / 4) ** 2) * np.log(slices)
    search = ruptures.Pelt(model="l2", min_size=MIN_PHASE_SLICES, jump=1).fit(shares)
    ends = search.predict(pen=penalty)
    phases: list[int] = []
    means: list[Array] = []
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        mean = shares[begin:end].mean(axis=0)
        # Half the sum of differences: the share of accesses that differ.
        differences = [float(np.abs(mean - other).sum()) / 2 for other in means]
        if differences and min(differences) < MAX_DIFFERENT_SHARE:
            kind = differences.index(min(differences))
        else:
            kind = len(means)
            means.append(mean)
        phases += [kind] * (end - begin)
    return phases


def _relabel(file: ProcessFile, phase_of: Mapping[int, int]) -> None:
    """Replace the phase numbers in all tables of a process."""
    for table in (file.counters, file.curves, file.pages, file.events):
        for row in table:
            key = int(row["key"])
            number = phase_of.get(key >> 48, key >> 48)
            row["key"] = number << 48 | key & ((1 << 48) - 1)
    for row in file.live:
        row["phase"] = phase_of.get(int(row["phase"]), int(row["phase"]))


def _traced_times(
    gathered: GatheredRuns, phase_of: Mapping[int, int], names: Sequence[str]
) -> dict[str, PhaseTime]:
    """Return the instrumented run's time of each phase, summed over the slices of the phase."""
    times = {name: PhaseTime() for name in names}
    before = -1
    for number, kind in sorted(phase_of.items()):
        time = gathered.instrumented.phases.get(gathered.phase_numbers[number], PhaseTime())
        total = times[names[kind]]
        total.cpu_ns += time.cpu_ns
        total.wall_ns += time.wall_ns
        total.entries += kind != before
        before = kind
    return times


def _divided(
    run: ProfiledRun,
    traced: Mapping[str, PhaseTime],
    accesses_of_phase: Array,
    names: Sequence[str],
) -> ProfiledRun:
    """Return a plain run with its time divided among the phases."""
    cpu = np.array([traced[name].cpu_ns for name in names], dtype=float)
    plain_cpu = float(sum(time.cpu_ns for time in run.phases.values()))
    plain_wall = float(sum(time.wall_ns for time in run.phases.values()))
    # Tracing costs about the same for each sampled access.
    cost = max(0.0, float(cpu.sum()) - plain_cpu) / max(float(accesses_of_phase.sum()), 1.0)
    near = np.maximum(cpu - cost * accesses_of_phase, MIN_NEAR_SHARE * cpu)
    shares = near / max(float(near.sum()), 1.0)
    phases = {
        name: PhaseTime(
            cpu_ns=round(share * plain_cpu),
            wall_ns=round(share * plain_wall),
            entries=traced[name].entries,
        )
        for name, share in zip(names, shares.tolist(), strict=True)
    }
    return ProfiledRun(run.outcome, phases)
