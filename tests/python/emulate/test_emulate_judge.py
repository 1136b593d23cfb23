"""Probes are run in rounds, each as slowly as the one before it found necessary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from samples import device

from nearfar.emulate import probes
from nearfar.emulate.way import Say, Times, Wanted
from nearfar.measure.topology import detect
from nearfar.predict.derive import far_memory, near_memory
from nearfar.profile.launch import Job
from nearfar.profile.phases import PhaseTime
from nearfar.profile.session import Request

LINES = 1000.0


def wanted() -> Wanted:
    near = near_memory(device("near"))
    return Wanted(near, far_memory(device("far", 300.0, 5.0, 2.0), near), detect(), ahead=True)


def request_of() -> Request:
    return Request(Job(["program"]), 1, 1 << 20, 8, "asked", 1 << 20)


def phases_of(ns_per_line: Callable[[str], float]) -> dict[str, PhaseTime]:
    """Every probe's parts, each of `LINES` lines."""
    return {
        f"{name}.{part}": PhaseTime(cpu_ns=round(ns_per_line(name) * LINES), operations=LINES)
        for name in probes.NAMES
        for part in range(7)
    }


class Faithful:
    """A way that hits its target, off by an error of its round, and as slowly as it is told."""

    slows_down: ClassVar[bool] = True

    def __init__(self, errors: list[float], slowly: list[float]) -> None:
        self.errors, self.slowly = errors, slowly
        self.asked: list[float] = []

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Lack nothing."""
        del wanted, executable
        return ""

    def run(self, request: Request, wanted: Wanted, say: Say) -> Times:
        """Return the next round."""
        del request, say
        number = len(self.asked)
        self.asked.append(wanted.slow_motion)
        error, slow = self.errors[number % len(self.errors)], self.slowly[number]
        near = phases_of(lambda name: probes.target_ns(wanted.near, name))
        far = phases_of(lambda name: probes.target_ns(wanted.far, name) * (1.0 + error))
        slow_motion = max(slow, wanted.slow_motion)
        return Times(near, far, "exited with 0", False, slow_motion=slow_motion)


@pytest.fixture(autouse=True)
def _nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_compiled", lambda folder: folder / "probes")


def test_rounds_begin_in_the_slow_motion_that_the_last_one_needed() -> None:
    """Whether a round came out better in it or not: that is noise of two rounds."""
    way = Faithful([0.0, 0.2, 0.0], [1.0, 2.5, 2.5])
    judged = probes.judge(way, request_of(), wanted(), lambda _: None)
    assert way.asked == [1.0, 1.0, 2.5]
    assert judged.slow_motion == 2.5


def test_the_middle_round_counts_and_the_worst_are_shown() -> None:
    judged = probes.judge(
        Faithful([0.02, -0.3, 0.4], [1.0] * 3), request_of(), wanted(), lambda _: None
    )
    for one in judged.probes:
        assert one.error == pytest.approx(0.02, abs=1e-3)
        assert one.error_range == pytest.approx((-0.3, 0.4), abs=1e-3)
