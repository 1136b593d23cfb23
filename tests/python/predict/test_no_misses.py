"""A program that only computes: no memory makes it slower, and nothing is divided by zero."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from able_models import ABLE_MODELS

from nearfar.api import place, predict, report
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Traffic
from nearfar.place.optimiser import OPTIMISERS
from nearfar.report.render import render


def only_hits(profile: WorkloadProfile) -> None:
    for phase in profile.phases:
        phase.instructions = []
        for row in phase.objects:
            row.traffic = Traffic(accesses=1000.0)


def no_rows(profile: WorkloadProfile) -> None:
    for phase in profile.phases:
        phase.instructions, phase.objects = [], []


def no_objects(profile: WorkloadProfile) -> None:
    no_rows(profile)
    profile.objects, profile.instructions, profile.live = [], [], []


@pytest.fixture(params=[only_hits, no_rows, no_objects])
def profile(request: pytest.FixtureRequest) -> WorkloadProfile:
    made = samples.workload()
    empty: Callable[[WorkloadProfile], None] = request.param
    empty(made)
    return made


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("model", ABLE_MODELS)
def test_every_memory_is_as_fast(profile: WorkloadProfile, model: str):
    far = samples.device("far", 500.0, 1.0, 0.5)
    (result,) = predict(profile=profile, near=samples.device(), far=[far], model=model).devices
    assert [phase.phase for phase in result.phases] == ["load", "get"]
    for phase in [*result.phases, result.total]:
        assert phase.slowdown.value == pytest.approx(1.0, rel=1e-9)
        # Its data do not fit in the cache: three misses are possible without a sampled one.
        fits = not profile.objects
        assert 1.0 - 1e-9 <= phase.slowdown.high < 1.01
        assert (phase.slowdown.high == pytest.approx(1.0, rel=1e-9)) == fits
        assert all(beside.slowdown == pytest.approx(1.0) for beside in phase.models)
    assert any("no cache misses" in caveat for caveat in result.caveats)


@pytest.mark.parametrize("budget", ["0", "25%", "2GiB"])
@pytest.mark.parametrize("optimiser", ["exact", "greedy", "hot-first"])
def test_every_placement_is_as_fast(profile: WorkloadProfile, budget: str, optimiser: str):
    assert optimiser in OPTIMISERS.names()
    far = samples.device("far", 500.0, 1.0, 0.5)
    plan = place(
        profile=profile, near=samples.device(), far=far, budget=budget, optimiser=optimiser
    )
    assert len(plan.alternatives) >= 6
    for bar in plan.alternatives:
        assert bar.slowdown.value == pytest.approx(1.0, rel=1e-9)
    if not profile.objects:
        assert "the profile has no objects: there is nothing to place" in plan.caveats


def test_the_report_states_it(profile: WorkloadProfile, tmp_path: Path):
    far = samples.device("far", 500.0, 1.0, 0.5)
    data = report(profile=profile, near=samples.device(), far=[far], sources=[tmp_path])
    assert "would hardly notice far memory" in data.answers[0].sentence
    assert "1.00" in render(data)
