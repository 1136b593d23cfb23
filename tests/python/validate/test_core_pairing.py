"""Core pairings are numbered in order of appearance; only samples of one are compared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.options.validate import Cores
from nearfar.validate import core_pairing
from nearfar.validate.core_pairing import (
    MAX_PAIRING_RATIO,
    MAX_PROBE_S,
    MAX_SLOW_PROBES_S,
    REQUIRED_PROBES,
    CorePairings,
    transfer_between,
)
from nearfar.validate.interleave import RoundHalves, TimedRun


class Hypervisor:
    """Fakes a sequence of transfer times; a probe takes no time, a sample 1 s."""

    def __init__(self, times_ns: Sequence[float]) -> None:
        self.times_ns = list(times_ns)
        self.now_s = 0.0

    def transfer_ns(self) -> float:
        return self.times_ns.pop(0)

    def clock(self) -> float:
        return self.now_s

    def sample(self) -> str:
        self.now_s += 1.0
        return "sample"

    def pairings(self) -> CorePairings:
        return CorePairings(self.transfer_ns, self.clock)


def test_pairings_are_distinguished_by_the_transfer_time() -> None:
    hypervisor = Hypervisor([172.0, 27.0, 165.0, 50.0, 600.0, 190.0, 27.0, 580.0])
    pairings = hypervisor.pairings()
    assert [pairings.probe() for _ in range(8)] == [0, 1, 0, 1, 2, 0, 1, 2]
    assert pairings.transfer_ns(0) == 172.0
    assert pairings.transfer_ns(9) is None


def test_noise_is_not_taken_for_a_move() -> None:
    hypervisor = Hypervisor([100.0 * factor for factor in (1.0, 0.95, 1.1, 1 / 1.15, 1.15)])
    pairings = hypervisor.pairings()
    assert MAX_PAIRING_RATIO > 1.15
    assert {pairings.probe() for _ in range(5)} == {0}


def test_a_sample_during_which_cores_moved_has_no_pairing() -> None:
    hypervisor = Hypervisor([33.0, 34.0, 170.0, 171.0, 172.0, 173.0])
    pairings = hypervisor.pairings()
    assert pairings.during(hypervisor.sample) == ("sample", 0)
    assert pairings.during(hypervisor.sample) == ("sample", None)
    # The end of the previous sample is the beginning of this one, which saves a probe.
    assert pairings.during(hypervisor.sample) == ("sample", 1)
    hypervisor.now_s += 1.0  # other work ran meanwhile
    assert pairings.during(lambda: "at once") == ("at once", 1)
    assert hypervisor.times_ns == []


def test_a_single_cpu_has_one_pairing() -> None:
    pairings = CorePairings(transfer_between((0,)), cores="apart")
    pairings.require()
    assert pairings.during(lambda: 1) == (1, 0)
    assert pairings.transfer_ns(0) is None


def test_where_cores_move_constantly_probing_stops() -> None:
    hypervisor = Hypervisor([33.0, 170.0])
    pairings = hypervisor.pairings()
    assert [pairings.probe(), pairings.probe()] == [0, 1]
    assert pairings.describe() == "33, 170 ns"
    pairings.stop_probing()
    assert pairings.during(hypervisor.sample) == ("sample", 0)


def test_slow_probes_end_probing() -> None:
    hypervisor = Hypervisor([33.0, 34.0, 170.0, 33.0])

    def slowly() -> float:
        hypervisor.now_s += 0.4 * MAX_SLOW_PROBES_S
        return hypervisor.transfer_ns()

    pairings = CorePairings(slowly, hypervisor.clock)
    assert [pairings.probe() for _ in range(5)] == [None, None, 0, 0, 0]
    assert pairings.disturbed
    assert len(hypervisor.times_ns) == 1


def test_a_sample_next_to_a_slow_probe_has_no_pairing() -> None:
    hypervisor = Hypervisor([33.0] * 48)

    def pausing() -> float:
        hypervisor.now_s += 2 * MAX_PROBE_S if len(hypervisor.times_ns) % 4 else 0.001
        return hypervisor.transfer_ns()

    pairings = CorePairings(pausing, hypervisor.clock)
    assert [pairings.probe() for _ in range(40)] == [0, None, None, None] * 10
    assert not pairings.disturbed
    assert pairings.during(hypervisor.sample) == ("sample", None)
    assert pairings.probe_patiently() == 0


@pytest.mark.parametrize(("cores", "match"), [("apart", 170.0), ("together", 33.0)])
def test_required_cores_match_by_their_transfer_time(
    cores: Cores, match: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_pairing.time, "sleep", lambda _: None)
    pairings = CorePairings(iter([33.0, 170.0, 33.0]).__next__, cores=cores)
    pairings.require()
    pairings.probe_patiently()
    times_ns = [pairings.transfer_ns(number) for number in (0, 1) if pairings.matches(number)]
    assert times_ns[:1] == [match]


def test_required_cores_that_never_come_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_pairing.time, "sleep", lambda _: None)
    pairings = CorePairings(itertools.repeat(33.0).__next__, cores="apart")
    with pytest.raises(
        NearfarError, match=f"in {REQUIRED_PROBES} probes a line took 33 ns"
    ) as error:
        pairings.require()
    assert error.value.exit_code == ExitCode.MACHINE_LACKS


def _halves(rounds: Sequence[Sequence[tuple[float, int | None]]]) -> RoundHalves:
    """Return rounds of near, far, far, near."""
    halves = RoundHalves()
    for samples in rounds:
        near_first, far_first, far_second, near_second = (
            TimedRun(ns, pairing=number) for ns, number in samples
        )
        nears, fars = iter([near_first, near_second]), iter([far_first, far_second])
        halves.take_round(lambda nears=nears: next(nears), lambda fars=fars: next(fars))
    return halves


def test_each_pairing_has_its_own_slowdown() -> None:
    together = [(100.0, 0), (200.0, 0), (220.0, 0), (110.0, 0)]
    apart = [(100.0, 1), (110.0, 1), (110.0, 1), (100.0, 1)]
    moved = [(100.0, 1), (500.0, None), (150.0, 0), (100.0, None)]
    halves = _halves([together, together, apart, moved])
    assert halves.pairings() == [0, 1]
    assert halves.count(0) == 5
    assert halves.pairs(0).slowdown().value == pytest.approx(2.0)
    assert halves.pairs(1).slowdown().value == pytest.approx(1.1)
    assert halves.pairs(1).a_a() == pytest.approx(0.0)
    assert 500.0 not in [run.ns for run in halves.pairs(0).far() + halves.pairs(1).far()]


def test_a_pairing_missing_in_one_half_does_not_count() -> None:
    halves = _halves([[(100.0, 0), (200.0, 0), (210.0, 1), (100.0, 1)]])
    assert halves.pairings() == []
