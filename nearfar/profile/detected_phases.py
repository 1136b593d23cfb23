"""Phases of a program that marks none, found in what it touches over time (`--phases auto`).

While the instrumented program runs, its time is cut into short slices, each counted as a phase of
its own. Afterwards neighbouring slices that touch the same objects alike are put together (change
points by PELT; Killick et al. 2012), and stretches that come again get the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.profile.objects import Site, make_objects
from nearfar.profile.run_file import ProcessFile
from nearfar.profile.session import GatheredRuns, ProfiledRun
from nearfar.profile.slices import SLICE_PREFIX
from nearfar.program.control import PHASE_BEFORE, PHASE_REST
from nearfar.program.phases import PhaseTime

Array = NDArray[np.float64]

MIN_SLICES = 8
"""Below, nothing can be told from noise."""
MIN_PHASE_SLICES = 3
"""Slices: what is shorter is a transition."""
MAX_DIFFERENT_SHARE = 0.15
"""Share of accesses that may be different in stretches taken for the same phase."""
MIN_NEAR_SHARE = 0.2
"""Of its traced time that a phase's near time is at least: no tracing takes five times longer."""


def with_detected_phases(gathered: GatheredRuns) -> tuple[GatheredRuns, str]:
    """Return what was gathered with slices put together to phases, and a sentence on them."""
    numbers = [
        number
        for number, name in sorted(gathered.phase_numbers.items())
        if name.startswith(SLICE_PREFIX) or number == PHASE_REST
    ]
    marked = set(gathered.phase_numbers) - {PHASE_BEFORE, *numbers}
    if marked:
        said = "the program marks its phases: none were detected beside them"
        return _unsliced(gathered, numbers), said
    _, object_of = make_objects(gathered.files)
    seen, accesses = _activity(gathered.files, object_of, numbers)
    active = [at for at, count in enumerate(accesses) if count > 0]
    kind_of = phase_of_slices(seen[active])
    count = max(kind_of, default=0) + 1
    names = [f"phase {kind + 1}" for kind in range(count)]
    # What was cut into a slice without any access belongs to the phase before.
    phase_of: dict[int, int] = {}
    for at, number in enumerate(numbers):
        before = [k for k, place in enumerate(active) if place <= at]
        phase_of[number] = kind_of[before[-1]] if before else 0
    firsts = [next(n for n in numbers if phase_of[n] == kind) for kind in range(count)]
    for file in gathered.files:
        _relabel(file, {n: firsts[kind] for n, kind in phase_of.items()})
    traced = _traced(gathered, phase_of, names)
    touched = np.zeros(count)
    for at, number in enumerate(numbers):
        touched[phase_of[number]] += accesses[at]
    runs = [_shared_out(run, traced, touched, names) for run in gathered.plain_runs]
    said = (
        f"{count} phase(s) were detected by what is touched, not marked by the program; their near "
        "times are the plain runs' time shared out by traced time less what tracing costs an "
        "access"
    )
    changed = replace(
        gathered,
        plain_runs=runs,
        instrumented=ProfiledRun(gathered.instrumented.outcome, traced),
        phase_numbers=dict(zip(firsts, names, strict=True)),
    )
    return changed, said


def _unsliced(gathered: GatheredRuns, numbers: Sequence[int]) -> GatheredRuns:
    """Return what was gathered as if nothing had been sliced."""
    for file in gathered.files:
        _relabel(file, dict.fromkeys(numbers, PHASE_REST))
    names = gathered.phase_numbers
    rest = PhaseTime()
    for number in numbers:
        one = gathered.instrumented.phases.get(names[number], PhaseTime())
        rest.cpu_ns += one.cpu_ns
        rest.wall_ns += one.wall_ns
    kept = {n: name for n, name in names.items() if n not in numbers}
    sliced = {names[number] for number in numbers}
    times = {k: v for k, v in gathered.instrumented.phases.items() if k not in sliced}
    return replace(
        gathered,
        instrumented=ProfiledRun(gathered.instrumented.outcome, {names[PHASE_REST]: rest, **times}),
        phase_numbers={PHASE_REST: names[PHASE_REST], **kept},
    )


def _activity(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int], numbers: Sequence[int]
) -> tuple[Array, Array]:
    """Return, by slice, the share of accesses that go to each object and miss, and that hit; and
    how many accesses there were.
    """
    place = {number: at for at, number in enumerate(numbers)}
    counts = np.zeros((len(numbers), 2 * (max(object_of.values(), default=0) + 1)))
    for process, file in enumerate(files):
        for row in file.counters:
            key = int(row["key"])
            phase, site, instruction = key >> 48, key >> 32 & 0xFFFF, key & 0xFFFFFFFF
            thing = object_of.get((process, site))
            if thing is None or phase not in place or instruction == 0:
                continue
            misses = int(row["read_misses"]) + int(row["write_misses"])
            counts[place[phase], 2 * thing] += misses
            counts[place[phase], 2 * thing + 1] += max(0, int(row["accesses"]) - misses)
    total = counts.sum(axis=1)
    return counts / np.maximum(total, 1.0)[:, None], total


def phase_of_slices(shares: Array) -> list[int]:
    """Return the phase of each slice, numbered as they first come."""
    slices = len(shares)
    if slices < MIN_SLICES:
        return [0] * slices
    import ruptures

    # Noise of a slice, from neighbours: most of them are in the same phase.
    noise = float(np.median((np.diff(shares, axis=0) ** 2).sum(axis=1))) / 2
    penalty = 3 * max(noise, (MAX_DIFFERENT_SHARE / 4) ** 2) * np.log(slices)
    found = ruptures.Pelt(model="l2", min_size=MIN_PHASE_SLICES, jump=1).fit(shares)
    ends = found.predict(pen=penalty)
    phase_of_slices: list[int] = []
    means: list[Array] = []
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        mean = shares[begin:end].mean(axis=0)
        # Half the sum of differences: the share of accesses that would have to move.
        apart = [float(np.abs(mean - other).sum()) / 2 for other in means]
        if apart and min(apart) < MAX_DIFFERENT_SHARE:
            kind = apart.index(min(apart))
        else:
            kind = len(means)
            means.append(mean)
        phase_of_slices += [kind] * (end - begin)
    return phase_of_slices


def _relabel(file: ProcessFile, phase_of: Mapping[int, int]) -> None:
    for table in (file.counters, file.curves, file.events):
        for row in table:
            key = int(row["key"])
            number = phase_of.get(key >> 48, key >> 48)
            row["key"] = number << 48 | key & ((1 << 48) - 1)
    for row in file.live:
        row["phase"] = phase_of.get(int(row["phase"]), int(row["phase"]))


def _traced(
    gathered: GatheredRuns, phase_of: Mapping[int, int], names: Sequence[str]
) -> dict[str, PhaseTime]:
    times = {name: PhaseTime() for name in names}
    before = -1
    for number, kind in sorted(phase_of.items()):
        one = gathered.instrumented.phases.get(gathered.phase_numbers[number], PhaseTime())
        total = times[names[kind]]
        total.cpu_ns += one.cpu_ns
        total.wall_ns += one.wall_ns
        total.entries += kind != before
        before = kind
    return times


def _shared_out(
    run: ProfiledRun, traced: Mapping[str, PhaseTime], touched: Array, names: Sequence[str]
) -> ProfiledRun:
    """Return a plain run with its time shared out to the phases."""
    cpu = np.array([traced[name].cpu_ns for name in names], dtype=float)
    plain_cpu = float(sum(time.cpu_ns for time in run.phases.values()))
    plain_wall = float(sum(time.wall_ns for time in run.phases.values()))
    # Tracing costs about the same at each access that is looked at.
    cost = max(0.0, float(cpu.sum()) - plain_cpu) / max(float(touched.sum()), 1.0)
    near = np.maximum(cpu - cost * touched, MIN_NEAR_SHARE * cpu)
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
