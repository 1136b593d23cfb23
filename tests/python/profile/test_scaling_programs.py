"""The largest size of real programs, predicted from smaller sizes and then measured.

Only counts are judged: times of a few ms on a busy machine are noise.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compiling import at_sizes, compiled

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Phase
from nearfar.profile.identity import align_objects
from nearfar.profile.scaling.extrapolate import extrapolate

pytestmark = pytest.mark.timing

CASES = {
    "hash": ((4000, 8000, 16000, 32000, 128000), 1 << 20),
    "btree": ((4000, 8000, 16000, 32000, 128000), 1 << 20),
    "sort": ((8000, 16000, 32000, 128000), 1 << 20),
    "matrix": ((72, 108, 160, 288, 480), 1 << 20),
}
BOUND = 0.25
"""Observed errors are 0 to 12 %; the smallest sizes have a few hundred sampled lines."""


@dataclass
class Case:
    """Holds an extrapolated structure, the largest profiled size, and the true profile."""

    name: str
    made: WorkloadProfile
    before: WorkloadProfile
    true: WorkloadProfile


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("growing.c", tmp_path_factory.mktemp("growing"), "--nearfar-rate=4")


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest, program: Path) -> Case:
    """Profile a structure at all sizes, the last of them held out."""
    sizes, cache_bytes = CASES[request.param]
    profiles = at_sizes(program, request.param, sizes, cache_bytes)
    names = [f"{n}.json" for n in sizes]
    # Times are noise here: a law that does not fit them must not stop the test.
    made = extrapolate(profiles[:-1], names[:-1], {"n": float(sizes[-1])}, force=True)
    return Case(request.param, made, profiles[-2], profiles[-1])


def phase(profile: WorkloadProfile, name: str) -> Phase:
    return next(phase for phase in profile.phases if phase.name == name)


def misses(profile: WorkloadProfile, name: str) -> float:
    return sum(row.traffic.misses() for row in phase(profile, name).objects)


def test_misses_of_each_phase(case: Case) -> None:
    name, made, true = case.name, case.made, case.true
    for each in true.phases:
        known = misses(true, each.name)
        if each.name == "-" or known < 1000:
            continue
        assert misses(made, each.name) == pytest.approx(known, rel=BOUND), (name, each.name)


def test_misses_are_better_than_a_constant_number_per_operation(case: Case) -> None:
    last = case.made.phases[-1].name
    known = misses(case.true, last)
    before, now = phase(case.before, last), phase(case.true, last)
    assert before.operations is not None
    assert now.operations is not None
    null = misses(case.before, last) * now.operations / before.operations
    error = abs(math.log(misses(case.made, last) / known))
    assert error < 0.5 * abs(math.log(max(null, 1.0) / known)), case.name


def test_sizes_and_operations(case: Case) -> None:
    made, true = case.made, case.true
    alike = align_objects([made, true])
    for same in alike.objects:
        sizes = [
            sum(profile.objects[number].size_bytes for number in numbers)
            for profile, numbers in zip((made, true), same.members, strict=True)
        ]
        if sizes[1] > 100_000:
            assert sizes[0] == pytest.approx(sizes[1], rel=0.1), same.name
    for each in true.phases:
        if each.operations:
            assert phase(made, each.name).operations == pytest.approx(each.operations, rel=0.01)


@pytest.mark.parametrize("name", ["hash", pytest.param("btree", marks=pytest.mark.long)])
def test_curves_have_the_shape_of_the_largest_size(program: Path, name: str) -> None:
    """Matrix and sort fall at one capacity: curves of steps, right to half an octave only.

    The median of three: which lines are sampled differs from run to run, and of the smallest
    tree's few hundred so does the law that fits them best.
    """
    sizes, cache_bytes = CASES[name]
    ratios = []
    for _ in range(3):
        profiles = at_sizes(program, name, sizes, cache_bytes)
        names = [f"{n}.json" for n in sizes[:-1]]
        made = extrapolate(profiles[:-1], names, {"n": float(sizes[-1])}, force=True)
        last = made.phases[-1].name
        mine, theirs = (
            [sum(c.read[i] + c.write[i] for c in curves) for i in (6, 10)]
            for curves in (
                [row.curve for row in phase(profile, last).objects if row.curve]
                for profile in (made, profiles[-1])
            )
        )
        ratios.append([math.log(a / b) for a, b in zip(mine, theirs, strict=True)])
    near, far = (sorted(column)[1] for column in zip(*ratios, strict=True))
    assert abs(near) < math.log(2)
    assert abs(far) < math.log(1.4)


def test_a_profile_states_that_it_was_extrapolated(case: Case) -> None:
    made, true = case.made, case.true
    assert made.extrapolation is not None
    assert true.extrapolation is None
    assert "never run" in made.warnings[0]
    assert made.size == true.size
    for each in made.extrapolation.quantities:
        assert each.estimate.low <= each.estimate.value <= each.estimate.high
    for now in made.phases:
        assert now.near_cpu_time_ns.low < now.near_cpu_time_ns.value < now.near_cpu_time_ns.high
