"""Probes run in rounds, each in the slow motion that the round before it required."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from samples import device, measured_here

from nearfar.emulate import probes
from nearfar.emulate.mechanism import EmulationTarget, EmulationTimes, Say
from nearfar.emulate.probes import (
    MAJORITY,
    MAX_DRIFT,
    MAX_ROUNDS,
    NAMES,
    ROUNDS,
    TOLERANCE,
    ProbeRound,
    is_decided,
    steadiest,
)
from nearfar.memories.topology import detect
from nearfar.predict.derive import far_memory, near_memory
from nearfar.profile.session import ProfileRequest
from nearfar.program.launch import Job, RunOutcome
from nearfar.program.phases import PhaseTime, ProfiledRun

LINES = 1000.0


def emulation_target() -> EmulationTarget:
    near = near_memory(device("near"))
    return EmulationTarget(
        near, far_memory(device("far", 300.0, 5.0, 2.0), near), detect(), ahead=True
    )


def request_of() -> ProfileRequest:
    return ProfileRequest(Job(["program"]), 1, 1 << 20, 8, "asked", 1 << 20)


def phases_of(ns_per_line: Callable[[str], float]) -> dict[str, PhaseTime]:
    """Return the parts of every probe, each of `LINES` lines."""
    return {
        f"{name}.{part}": PhaseTime(cpu_ns=round(ns_per_line(name) * LINES), operations=LINES)
        for name in probes.NAMES
        for part in range(7)
    }


def in_huge_pages_if_given() -> EmulationTarget:
    """Return near memory of a machine that grants huge pages on request while it has any."""
    measured = measured_here(transparent_huge_pages="madvise")
    near = near_memory(msgspec.structs.replace(device("near"), measured=measured))
    return replace(emulation_target(), near=near)


class Faithful:
    """Implements a mechanism that meets its target up to an error per round."""

    slows_down: ClassVar[bool] = True

    def __init__(self, errors: list[float], slowly: list[float]) -> None:
        self.errors, self.slowly = errors, slowly
        self.asked: list[float] = []
        self.pages: list[int | None] = []

    def missing(self, target: EmulationTarget, executable: Path) -> str:
        """Return nothing."""
        del target, executable
        return ""

    def run(self, request: ProfileRequest, target: EmulationTarget, say: Say) -> EmulationTimes:
        """Return the next round."""
        del request, say
        number = len(self.asked)
        self.asked.append(target.slow_motion)
        self.pages.append(target.near.page_bytes)
        error, slow = self.errors[number % len(self.errors)], self.slowly[number]
        near = phases_of(lambda name: probes.target_ns(target.near, name))
        far = phases_of(lambda name: probes.target_ns(target.far, name) * (1.0 + error))
        slow_motion = max(slow, target.slow_motion)
        return EmulationTimes(near, far, "exited with 0", False, slow_motion=slow_motion)


@pytest.fixture(autouse=True)
def _nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace real runs: near memory stays the same."""
    side = emulation_target().near
    after = ProfiledRun(
        RunOutcome("exited with 0", False, 1, 1),
        phases_of(lambda name: probes.target_ns(side, name)),
    )
    monkeypatch.setattr(probes, "_compiled", lambda folder: folder / "probes")
    monkeypatch.setattr(probes, "plain_build_of", lambda *_: None)
    monkeypatch.setattr(probes, "run_plain", lambda *_: after)


def test_rounds_start_in_the_slow_motion_that_the_last_round_required() -> None:
    """Whether a round was better in it is noise of two rounds."""
    mechanism = Faithful([0.0, 0.2, 0.0, 0.2, 0.0], [1.0, 2.5, 2.5, 2.5, 2.5])
    judged = probes.judge(mechanism, request_of(), emulation_target(), lambda _: None)
    assert mechanism.asked == [1.0, 1.0, 2.5, 2.5, 2.5]
    assert judged.slow_motion == 2.5
    assert judged.caveats() == []


def test_the_median_round_counts_and_the_worst_are_shown() -> None:
    mechanism = Faithful([0.02, -0.3, 0.4, 0.03, 0.01], [1.0] * ROUNDS)
    judged = probes.judge(mechanism, request_of(), emulation_target(), lambda _: None)
    for probe in judged.probes:
        assert probe.error == pytest.approx(0.02, abs=1e-3)
        assert probe.error_range == pytest.approx((-0.3, 0.4), abs=1e-3)


@pytest.mark.parametrize("error", [0.0, 0.3, -0.3])
def test_rounds_that_cannot_change_the_verdict_do_not_run(error: float) -> None:
    mechanism = Faithful([error], [1.0] * ROUNDS)
    judged = probes.judge(mechanism, request_of(), emulation_target(), lambda _: None)
    assert len(mechanism.asked) == MAJORITY
    assert judged.error == pytest.approx(abs(error), abs=1e-3)


@pytest.mark.parametrize("seed", range(200))
def test_a_decided_verdict_is_that_of_all_rounds(seed: int) -> None:
    """Whatever the rounds are that did not run."""
    rng = random.Random(seed)
    rounds = [{name: rng.gauss(0.05, 0.06) for name in NAMES} for _ in range(ROUNDS)]

    def faithful(some: list[dict[str, float]]) -> bool:
        return all(
            abs(statistics.median(each[name] for each in some)) <= TOLERANCE for name in NAMES
        )

    ran = next((n for n in range(1, ROUNDS) if is_decided(rounds[:n])), ROUNDS)
    assert ran >= MAJORITY
    assert faithful(rounds[:ran]) == faithful(rounds)


def test_no_round_is_announced_as_one_of_fewer() -> None:
    lines = [probes.progress(number) for number in range(1, MAX_ROUNDS + 1)]
    assert lines[ROUNDS - 1] == f"probes, round {ROUNDS} of at most {ROUNDS}"
    for number, line in enumerate(lines[ROUNDS:], start=ROUNDS + 1):
        assert line.startswith(f"probes, round {number} of at most {MAX_ROUNDS}: near memory")


def drifting(drifts: list[float]) -> tuple[list[ProbeRound], list[ProbeRound]]:
    """Return all rounds that ran while near memory drifted so, and those that count."""
    run: list[ProbeRound] = []

    def run_round(slow_motion: float) -> ProbeRound:
        times = EmulationTimes({}, {}, "exited with 0", False, slow_motion=slow_motion)
        drift = drifts[len(run) % len(drifts)]
        run.append(
            ProbeRound(times, {"chase": 100.0, "stream": 2.0}, {"chase": 100.0, "stream": drift})
        )
        return run[-1]

    return run, steadiest(run_round, 1.0)


def test_a_round_with_drift_of_near_memory_is_repeated() -> None:
    within, beyond = 2.0 * (1.0 - MAX_DRIFT) + 1e-6, 2.0 * (1.0 + MAX_DRIFT) + 1e-6
    run, counted = drifting([within])
    assert len(run) == len(counted) == ROUNDS
    run, counted = drifting([beyond, within, within, within, within, within])
    assert len(run) == ROUNDS + 1
    assert run[0] not in counted


def test_with_constant_drift_the_steadiest_rounds_count_and_a_warning_is_given() -> None:
    run, counted = drifting([2.4, 2.2, 2.6])
    assert len(run) == MAX_ROUNDS
    assert sorted(round(probed.drift, 3) for probed in counted) == [0.1] * 2 + [0.2] * 3
    judged = probes.ProbeResults([], drift=max(probed.drift for probed in counted))
    assert any("drifted by 20%" in caveat for caveat in judged.caveats())


@pytest.mark.parametrize(
    ("share", "page_bytes"), [(0.0, 4096), (0.9, 4096), (0.96, probes.HUGE_BYTES)]
)
def test_the_page_size_of_the_probes_is_checked(
    monkeypatch: pytest.MonkeyPatch, share: float, page_bytes: int
) -> None:
    lines = probes.MIN_REGION_BYTES / 64 * share
    side = emulation_target().near
    after = phases_of(lambda name: probes.target_ns(side, name))
    after[probes.HUGE_LINES] = PhaseTime(operations=lines)
    asked: list[list[str]] = []

    def run_plain(request: ProfileRequest, plain: object) -> ProfiledRun:
        del plain
        asked.append(list(request.job.command))
        return ProfiledRun(RunOutcome("exited with 0", False, 1, 1), after)

    monkeypatch.setattr(probes, "run_plain", run_plain)
    mechanism = Faithful([0.0], [1.0] * ROUNDS)
    probes.judge(mechanism, request_of(), in_huge_pages_if_given(), lambda _: None)
    assert asked[0][1:] == [str(probes.MIN_REGION_BYTES), str(probes.FEW_LINES)]
    assert mechanism.pages == [page_bytes] * MAJORITY
