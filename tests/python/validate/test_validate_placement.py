"""Placements of the cores: numbered as they are seen; only samples of one are compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from nearfar.validate.interleave import Halves, Timed
from nearfar.validate.placement import (
    ALIKE,
    GIVEN_UP_S,
    MOST_GIVEN_UP_S,
    MOST_NAPS,
    PATIENCE_S,
    SLOW_S,
    Placement,
)


class Hypervisor:
    """Says what a line takes, one time after the other; a look takes no time, a sample 1 s."""

    def __init__(self, times_ns: Sequence[float]) -> None:
        self.times_ns = list(times_ns)
        self.now_s = 0.0

    def hand_off(self) -> float:
        return self.times_ns.pop(0)

    def clock(self) -> float:
        return self.now_s

    def sample(self) -> str:
        self.now_s += 1.0
        return "sample"

    def placement(self) -> Placement:
        return Placement(self.hand_off, self.clock)


def test_placements_are_told_apart_by_the_time_of_a_line() -> None:
    hypervisor = Hypervisor([172.0, 27.0, 165.0, 50.0, 600.0, 190.0, 27.0, 580.0])
    placement = hypervisor.placement()
    assert [placement.now() for _ in range(8)] == [0, 1, 0, 1, 2, 0, 1, 2]
    assert placement.hand_off_ns(0) == 172.0
    assert placement.hand_off_ns(9) is None


def test_noise_is_no_move() -> None:
    hypervisor = Hypervisor([100.0 * factor for factor in (1.0, 0.95, 1.1, 1 / 1.15, 1.15)])
    placement = hypervisor.placement()
    assert ALIKE > 1.15
    assert {placement.now() for _ in range(5)} == {0}


def test_a_sample_during_which_cores_moved_is_of_no_placement() -> None:
    hypervisor = Hypervisor([33.0, 34.0, 170.0, 171.0, 172.0, 173.0])
    placement = hypervisor.placement()
    assert placement.during(hypervisor.sample) == ("sample", 0)
    assert placement.during(hypervisor.sample) == ("sample", None)
    # The end of the one before is the beginning of this one: one look less.
    assert placement.during(hypervisor.sample) == ("sample", 1)
    hypervisor.now_s += 1.0  # something else went on meanwhile
    assert placement.during(lambda: "at once") == ("at once", 1)
    assert hypervisor.times_ns == []


def test_one_core_has_no_neighbour() -> None:
    placement = Placement.of((0,))
    assert placement.during(lambda: 1) == (1, 0)
    assert placement.hand_off_ns(0) is None


def test_where_cores_never_stay_they_are_no_longer_told_apart() -> None:
    hypervisor = Hypervisor([33.0, 170.0])
    placement = hypervisor.placement()
    assert [placement.now(), placement.now()] == [0, 1]
    assert placement.said() == "33, 170 ns"
    placement.look_no_more()
    assert placement.during(hypervisor.sample) == ("sample", 0)


def test_looks_that_take_long_for_long_end_the_looking() -> None:
    hypervisor = Hypervisor([33.0, 34.0, 170.0, 33.0])

    def slowly() -> float:
        hypervisor.now_s += 0.4 * PATIENCE_S
        return hypervisor.hand_off()

    placement = Placement(slowly, hypervisor.clock)
    assert [placement.now() for _ in range(5)] == [None, None, 0, 0, 0]
    assert placement.hindered
    assert len(hypervisor.times_ns) == 1


def test_what_is_sampled_beside_a_slow_look_is_of_no_placement() -> None:
    hypervisor = Hypervisor([33.0] * 48)

    def pausing() -> float:
        hypervisor.now_s += 2 * SLOW_S if len(hypervisor.times_ns) % 4 else 0.001
        return hypervisor.hand_off()

    placement = Placement(pausing, hypervisor.clock)
    seen = [placement.now() for _ in range(40)]
    assert seen == [0, None, None, None] * 10
    assert not placement.hindered
    assert placement.during(hypervisor.sample) == ("sample", None)
    assert placement.patiently() == 0


class Sleepers:
    """Cores that are placed anew whenever they nap, in turn."""

    def __init__(self, times_ns: Sequence[float]) -> None:
        self.turns: Iterator[float] = itertools.cycle(times_ns)
        self.at_ns = next(self.turns)
        self.naps = 0
        self.now_s = 0.0

    def nap(self) -> None:
        self.at_ns = next(self.turns)
        self.naps += 1

    def placement(self) -> Placement:
        return Placement(lambda: self.at_ns, self.clock, self.nap)

    def clock(self) -> float:
        self.now_s += 0.005
        return self.now_s


def test_cores_are_let_sleep_until_they_are_far_from_each_other() -> None:
    cores = Sleepers([33.0, 34.0, 170.0])
    placement = cores.placement()
    placement.want("apart")
    for wrong in (True, False):
        cores.at_ns = 30.0 if wrong else 165.0
        before = cores.naps
        assert placement.hand_off_ns(placement.come_to_wanted() or 0) == 170.0
        assert (cores.naps > before) == wrong
        assert cores.at_ns > 150.0
    cores.at_ns = 30.0
    _, number = placement.during(lambda: None)
    assert number is not None
    assert placement.hand_off_ns(number) == 170.0


def test_what_lacks_of_a_placement_is_sampled_in_it_wherever_the_session_wants_to_be() -> None:
    cores = Sleepers([170.0, 33.0])
    placement = cores.placement()
    placement.want("apart")
    other = next(one for one in (0, 1) if placement.hand_off_ns(one) == 33.0)
    assert placement.during(lambda: None, other) == (None, other)


def test_cores_that_are_wanted_together_are_brought_together() -> None:
    cores = Sleepers([33.0, 170.0])
    placement = cores.placement()
    placement.want("together")
    cores.at_ns, before = 170.0, cores.naps
    assert placement.hand_off_ns(placement.come_to_wanted() or 0) == 33.0
    assert cores.naps > before


def test_cores_that_come_to_be_farther_apart_by_themselves_are_left_there() -> None:
    cores = Sleepers([33.0])
    placement = cores.placement()
    placement.want("apart")
    cores.at_ns, before = 170.0, cores.naps
    assert placement.come_to_wanted() == 1
    assert placement.during(lambda: None) == (None, 1)
    assert cores.naps == before
    assert placement.during(lambda: None, 0) == (None, 0)  # unless they are asked for


def test_other_work_while_placements_are_looked_for_ends_the_looking() -> None:
    cores = Sleepers([33.0, 170.0])

    def slower() -> float:
        cores.now_s += PATIENCE_S if cores.naps > 12 else 0.0
        return cores.at_ns

    placement = Placement(slower, cores.clock, cores.nap)
    placement.want("apart")
    assert placement.hindered
    assert placement.come_to_wanted() == 0


def test_a_placement_that_is_seldom_come_to_is_not_waited_for() -> None:
    cores = Sleepers([33.0, 170.0, *[33.0] * 58])
    placement = cores.placement()
    placement.want("apart")
    assert placement.said() == "33, 170 ns"
    cores.at_ns, before = 33.0, cores.naps
    placement.come_to_wanted()
    assert cores.naps == before


def test_cores_that_do_not_come_back_are_taken_where_they_are() -> None:
    cores = Sleepers([170.0, 33.0])
    placement = cores.placement()
    placement.want("apart")
    cores.turns, before = itertools.repeat(33.0), cores.naps
    cores.nap()
    found, number = placement.during(lambda: "sample")
    assert found == "sample"
    assert number is not None
    assert placement.hand_off_ns(number) == 33.0
    assert cores.naps == before + 1 + MOST_NAPS
    # Not soon again, and later the more often it was in vain.
    for times, wait_s in ((2, GIVEN_UP_S), (3, 2 * GIVEN_UP_S), (4, 4 * GIVEN_UP_S)):
        cores.now_s += 0.8 * wait_s
        placement.come_to_wanted()
        assert cores.naps == before + 1 + (times - 1) * MOST_NAPS
        cores.now_s += 0.2 * wait_s
        placement.come_to_wanted()
        assert cores.naps == before + 1 + times * MOST_NAPS
    cores.turns = itertools.repeat(170.0)
    cores.now_s += MOST_GIVEN_UP_S
    placement.come_to_wanted()
    assert cores.naps == before + 2 + 4 * MOST_NAPS
    cores.turns = itertools.repeat(33.0)
    cores.nap()
    for _ in range(2):
        placement.come_to_wanted()
        cores.now_s += GIVEN_UP_S
    assert cores.naps == before + 3 + 6 * MOST_NAPS


def test_cores_that_are_first_seen_far_apart_later_are_brought_there_then() -> None:
    cores = Sleepers([33.0])
    placement = cores.placement()
    placement.want("apart")
    assert placement.come_to_wanted() == 0
    cores.at_ns = 170.0
    for _ in range(3):  # the hypervisor's own doing
        placement.during(lambda: None)
    cores.at_ns = 33.0
    for _ in range(300):  # there for long, where no nap is tried
        placement._number(33.0)
        placement._looks[0] += 1
    cores.at_ns, cores.turns = 33.0, itertools.repeat(170.0)
    _, number = placement.during(lambda: None)
    assert number is not None
    assert placement.hand_off_ns(number) == 170.0


def _halves(rounds: Sequence[Sequence[tuple[float, int | None]]]) -> Halves:
    """Rounds of near, far, far, near."""
    halves = Halves()
    for one in rounds:
        near_first, far_first, far_second, near_second = (
            Timed(ns, placement=number) for ns, number in one
        )
        nears, fars = iter([near_first, near_second]), iter([far_first, far_second])
        halves.take_round(lambda nears=nears: next(nears), lambda fars=fars: next(fars))
    return halves


def test_each_placement_has_its_own_slowdown() -> None:
    together = [(100.0, 0), (200.0, 0), (220.0, 0), (110.0, 0)]
    apart = [(100.0, 1), (110.0, 1), (110.0, 1), (100.0, 1)]
    moved = [(100.0, 1), (500.0, None), (150.0, 0), (100.0, None)]
    halves = _halves([together, together, apart, moved])
    assert halves.placements() == [0, 1]
    assert halves.count(0) == 5
    assert halves.of(0).slowdown().value == pytest.approx(2.0)
    assert halves.of(1).slowdown().value == pytest.approx(1.1)
    assert halves.of(1).a_a() == pytest.approx(0.0)
    assert 500.0 not in [one.ns for one in halves.of(0).far() + halves.of(1).far()]


def test_a_placement_that_one_half_never_saw_is_none() -> None:
    halves = _halves([[(100.0, 0), (200.0, 0), (210.0, 1), (100.0, 1)]])
    assert halves.placements() == []
