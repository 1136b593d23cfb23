"""Benchmarks let cores sleep until a hypervisor pairs them as required and keep them awake."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from patience import patience

from benchmarks import steered_cores
from benchmarks.steered_cores import MAX_PAUSE_S, MAX_SLEEPS, MIN_PAUSE_S, SteeredPairings
from nearfar.validate.core_pairing import MAX_SLOW_PROBES_S, SLEEP_S
from nearfar.validate.kernel import build


class Sleepers:
    """Fakes cores that move at each sleep, in order."""

    def __init__(self, times_ns: Sequence[float]) -> None:
        self.turns: Iterator[float] = itertools.cycle(times_ns)
        self.now_ns = next(self.turns)
        self.sleeps = 0
        self.now_s = 0.0

    def sleep(self) -> None:
        self.now_ns = next(self.turns)
        self.sleeps += 1

    def pairings(self) -> SteeredPairings:
        return SteeredPairings(lambda: self.now_ns, self.clock, self.sleep)

    def clock(self) -> float:
        self.now_s += 0.005
        return self.now_s


def test_cores_sleep_until_they_are_far_from_each_other() -> None:
    cores = Sleepers([33.0, 34.0, 170.0])
    pairings = cores.pairings()
    pairings.prefer("apart")
    for wrong in (True, False):
        cores.now_ns = 30.0 if wrong else 165.0
        before = cores.sleeps
        assert pairings.transfer_ns(pairings.settle(patiently=True) or 0) == 170.0
        assert (cores.sleeps > before) == wrong
        assert cores.now_ns > 150.0
    cores.now_ns = 30.0
    _, number = pairings.during(lambda: None)
    assert number is not None
    assert pairings.transfer_ns(number) == 170.0


def test_missing_samples_of_a_pairing_are_taken_in_it_despite_the_preference() -> None:
    cores = Sleepers([170.0, 33.0])
    pairings = cores.pairings()
    pairings.prefer("apart")
    other = next(number for number in (0, 1) if pairings.transfer_ns(number) == 33.0)
    assert pairings.during(lambda: None, other) == (None, other)


def test_cores_with_the_preference_together_are_brought_together() -> None:
    cores = Sleepers([33.0, 170.0])
    pairings = cores.pairings()
    pairings.prefer("together")
    cores.now_ns, before = 170.0, cores.sleeps
    assert pairings.transfer_ns(pairings.settle(patiently=True) or 0) == 33.0
    assert cores.sleeps > before


def test_cores_that_separate_by_themselves_are_left() -> None:
    cores = Sleepers([33.0])
    pairings = cores.pairings()
    pairings.prefer("apart")
    cores.now_ns, before = 170.0, cores.sleeps
    assert pairings.settle(patiently=True) == 1
    assert pairings.during(lambda: None) == (None, 1)
    assert cores.sleeps == before
    assert pairings.during(lambda: None, 0) == (None, 0)  # except if it is required


def test_other_work_during_the_first_probes_ends_probing() -> None:
    cores = Sleepers([33.0, 170.0])

    def slower() -> float:
        cores.now_s += MAX_SLOW_PROBES_S if cores.sleeps > 12 else 0.0
        return cores.now_ns

    pairings = SteeredPairings(slower, cores.clock, cores.sleep)
    pairings.prefer("apart")
    assert pairings.disturbed
    assert pairings.settle(patiently=True) == 0


def test_a_rare_pairing_is_not_waited_for() -> None:
    cores = Sleepers([33.0, 170.0, *[33.0] * 58])
    pairings = cores.pairings()
    pairings.prefer("apart")
    assert pairings.describe() == "33, 170 ns"
    cores.now_ns, before = 33.0, cores.sleeps
    pairings.settle(patiently=True)
    assert cores.sleeps == before


def test_cores_that_do_not_return_are_used_where_they_are() -> None:
    cores = Sleepers([170.0, 33.0])
    pairings = cores.pairings()
    pairings.prefer("apart")
    cores.turns, before = itertools.repeat(33.0), cores.sleeps
    cores.sleep()
    result, number = pairings.during(lambda: "sample")
    assert result == "sample"
    assert number is not None
    assert pairings.transfer_ns(number) == 33.0
    assert cores.sleeps == before + 1 + MAX_SLEEPS
    # The next attempt is later, and later still after more failures.
    for times, wait_s in ((2, MIN_PAUSE_S), (3, 2 * MIN_PAUSE_S), (4, 4 * MIN_PAUSE_S)):
        cores.now_s += 0.8 * wait_s
        pairings.settle(patiently=True)
        assert cores.sleeps == before + 1 + (times - 1) * MAX_SLEEPS
        cores.now_s += 0.2 * wait_s
        pairings.settle(patiently=True)
        assert cores.sleeps == before + 1 + times * MAX_SLEEPS
    cores.turns = itertools.repeat(170.0)
    cores.now_s += MAX_PAUSE_S
    pairings.settle(patiently=True)
    assert cores.sleeps == before + 2 + 4 * MAX_SLEEPS
    cores.turns = itertools.repeat(33.0)
    cores.sleep()
    for _ in range(2):
        pairings.settle(patiently=True)
        cores.now_s += MIN_PAUSE_S
    assert cores.sleeps == before + 3 + 6 * MAX_SLEEPS


def test_a_pairing_that_becomes_frequent_later_is_preferred_then() -> None:
    cores = Sleepers([33.0])
    pairings = cores.pairings()
    pairings.prefer("apart")
    assert pairings.settle(patiently=True) == 0
    cores.now_ns = 170.0
    for _ in range(3):  # the hypervisor moved them
        pairings.during(lambda: None)
    cores.now_ns = 33.0
    for _ in range(300):  # a long time in the other pairing, without sleeps
        pairings._number(33.0)
        pairings._counts[0] += 1
    cores.now_ns, cores.turns = 33.0, itertools.repeat(170.0)
    _, number = pairings.during(lambda: None)
    assert number is not None
    assert pairings.transfer_ns(number) == 170.0


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    return build(("triad",), folder, lambda _: None)["triad"].plain


def _awake(count: int) -> list[int]:
    """Return this process's spinning children once there are `count`.

    Their command line is complete only a moment after they begin, and they yield to all other work.
    """
    until = time.monotonic() + patience(30)
    while len(spinners := _spinners()) < count and time.monotonic() < until:
        time.sleep(0.01)
    return spinners


def _spinners() -> list[int]:
    spinners = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            spins = (process / "cmdline").read_bytes().endswith(b"\0spin\0")
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended
        if spins and parent == os.getpid():
            spinners.append(int(process.name))
    return spinners


def _comes_to(pid: int, state: str) -> bool:
    """Return whether a process reaches a state; signals take effect with a delay."""
    until = time.monotonic() + patience(10)
    while time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state:
            return True
    return False


def test_cores_sleep_when_told_and_are_awake_afterwards(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with steered_cores.awake(kernel, cpus) as sleep:
        spinners, asleep = _awake(len(cpus)), list[bool]()

        def look(seconds: float) -> None:
            assert seconds == SLEEP_S
            asleep.extend(_comes_to(pid, "T") for pid in spinners)

        monkeypatch.setattr(steered_cores.time, "sleep", look)
        sleep()
        monkeypatch.undo()
        assert asleep == [True] * len(spinners) != []
        assert all(_comes_to(pid, "R") for pid in spinners)


@pytest.mark.timing
def test_spinners_yield_and_end(kernel: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    with steered_cores.awake(kernel, [cpu, cpu]):
        (pid,) = _awake(1)
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        assert os.sched_getaffinity(pid) == {cpu}
        # In this session, because Linux divides the core between sessions first.
        assert os.getsid(pid) == os.getsid(0)
    assert not _spinners()
