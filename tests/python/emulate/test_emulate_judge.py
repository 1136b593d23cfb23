"""Probes are run in rounds, each as slowly as the one before it found necessary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from samples import device, measured_here

from nearfar.emulate import probes
from nearfar.emulate.rounds import DRIFT, MOST_ROUNDS, ROUNDS, Round, steadiest
from nearfar.emulate.way import Say, Times, Wanted
from nearfar.memories.topology import detect
from nearfar.predict.derive import far_memory, near_memory
from nearfar.profile.session import ProfiledRun, ProfileRequest
from nearfar.program.launch import Job, RunOutcome
from nearfar.program.phases import PhaseTime

LINES = 1000.0


def wanted() -> Wanted:
    near = near_memory(device("near"))
    return Wanted(near, far_memory(device("far", 300.0, 5.0, 2.0), near), detect(), ahead=True)


def request_of() -> ProfileRequest:
    return ProfileRequest(Job(["program"]), 1, 1 << 20, 8, "asked", 1 << 20)


def phases_of(ns_per_line: Callable[[str], float]) -> dict[str, PhaseTime]:
    """Every probe's parts, each of `LINES` lines."""
    return {
        f"{name}.{part}": PhaseTime(cpu_ns=round(ns_per_line(name) * LINES), operations=LINES)
        for name in probes.NAMES
        for part in range(7)
    }


def in_huge_pages_if_given() -> Wanted:
    """Near memory of a machine that gives huge pages to who asks, while there are any."""
    measured = measured_here(transparent_huge_pages="madvise")
    near = near_memory(msgspec.structs.replace(device("near"), measured=measured))
    return replace(wanted(), near=near)


class Faithful:
    """A way that hits its target, off by an error of its round, and as slowly as it is told."""

    slows_down: ClassVar[bool] = True

    def __init__(self, errors: list[float], slowly: list[float]) -> None:
        self.errors, self.slowly = errors, slowly
        self.asked: list[float] = []
        self.pages: list[int | None] = []

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Lack nothing."""
        del wanted, executable
        return ""

    def run(self, request: ProfileRequest, wanted: Wanted, say: Say) -> Times:
        """Return the next round."""
        del request, say
        number = len(self.asked)
        self.asked.append(wanted.slow_motion)
        self.pages.append(wanted.near.page_bytes)
        error, slow = self.errors[number % len(self.errors)], self.slowly[number]
        near = phases_of(lambda name: probes.target_ns(wanted.near, name))
        far = phases_of(lambda name: probes.target_ns(wanted.far, name) * (1.0 + error))
        slow_motion = max(slow, wanted.slow_motion)
        return Times(near, far, "exited with 0", False, slow_motion=slow_motion)


@pytest.fixture(autouse=True)
def _nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near memory after a round is what it was before."""
    side = wanted().near
    after = ProfiledRun(
        RunOutcome("exited with 0", False, 1, 1),
        phases_of(lambda name: probes.target_ns(side, name)),
    )
    monkeypatch.setattr(probes, "_compiled", lambda folder: folder / "probes")
    monkeypatch.setattr(probes, "plain_of", lambda *_: None)
    monkeypatch.setattr(probes, "plain_run", lambda *_: after)


def test_rounds_begin_in_the_slow_motion_that_the_last_one_needed() -> None:
    """Whether a round came out better in it or not: that is noise of two rounds."""
    way = Faithful([0.0, 0.2, 0.0, 0.0, 0.0], [1.0, 2.5, 2.5, 2.5, 2.5])
    judged = probes.judge(way, request_of(), wanted(), lambda _: None)
    assert way.asked == [1.0, 1.0, 2.5, 2.5, 2.5]
    assert judged.slow_motion == 2.5
    assert judged.caveats() == []


def test_the_middle_round_counts_and_the_worst_are_shown() -> None:
    way = Faithful([0.02, -0.3, 0.4, 0.03, 0.01], [1.0] * ROUNDS)
    judged = probes.judge(way, request_of(), wanted(), lambda _: None)
    for one in judged.probes:
        assert one.error == pytest.approx(0.02, abs=1e-3)
        assert one.error_range == pytest.approx((-0.3, 0.4), abs=1e-3)


def drifting(drifts: list[float]) -> tuple[list[Round], list[Round]]:
    """Return all rounds that were run where near memory drifts so, and those that count."""
    run: list[Round] = []

    def one_round(slow_motion: float) -> Round:
        times = Times({}, {}, "exited with 0", False, slow_motion=slow_motion)
        drift = drifts[len(run) % len(drifts)]
        run.append(Round(times, {"chase": 100.0, "stream": 2.0}, {"chase": 100.0, "stream": drift}))
        return run[-1]

    return run, steadiest(one_round, 1.0)


def test_a_round_in_which_near_memory_drifted_is_run_again() -> None:
    within, beyond = 2.0 * (1.0 - DRIFT) + 1e-6, 2.0 * (1.0 + DRIFT) + 1e-6
    run, counted = drifting([within])
    assert len(run) == len(counted) == ROUNDS
    run, counted = drifting([beyond, within, within, within, within, within])
    assert len(run) == ROUNDS + 1
    assert run[0] not in counted


def test_where_it_always_drifts_the_steadiest_count_and_it_is_said() -> None:
    run, counted = drifting([2.4, 2.2, 2.6])
    assert len(run) == MOST_ROUNDS
    assert sorted(round(one.drift, 3) for one in counted) == [0.1] * 2 + [0.2] * 3
    judged = probes.Judged([], drift=max(one.drift for one in counted))
    assert any("drifted by 20%" in said for said in judged.caveats())


@pytest.mark.parametrize(
    ("share", "page_bytes"), [(0.0, 4096), (0.9, 4096), (0.96, probes.HUGE_BYTES)]
)
def test_what_pages_the_probes_get_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, share: float, page_bytes: int
) -> None:
    lines = probes.LEAST_REGION_BYTES / 64 * share
    side = wanted().near
    after = phases_of(lambda name: probes.target_ns(side, name))
    after[probes.HUGE_LINES] = PhaseTime(operations=lines)
    asked: list[list[str]] = []

    def plain_run(request: ProfileRequest, plain: object) -> ProfiledRun:
        del plain
        asked.append(list(request.job.command))
        return ProfiledRun(RunOutcome("exited with 0", False, 1, 1), after)

    monkeypatch.setattr(probes, "plain_run", plain_run)
    way = Faithful([0.0], [1.0] * ROUNDS)
    probes.judge(way, request_of(), in_huge_pages_if_given(), lambda _: None)
    assert asked[0][1:] == [str(probes.LEAST_REGION_BYTES), str(probes.FEW_LINES)]
    assert way.pages == [page_bytes] * ROUNDS
