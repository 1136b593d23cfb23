"""A profile converted to another machine: its cache, its near memory, its clock."""

from __future__ import annotations

import msgspec
import pytest
from other_machines import NEAR, SLOWER, made_up

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile
from nearfar.documents.bursts import Bursts
from nearfar.documents.workload import AccessClasses, InstructionTraffic, MissCurve
from nearfar.predict.other_machine import on_other_machine, parse_near_times, parse_time_ns


@pytest.mark.parametrize("log2", [18, 20, 24, 25])
def test_misses_of_another_cache_follow_the_curve(log2: int) -> None:
    there = on_other_machine(made_up(), NEAR, llc_bytes=1 << log2)
    traffic = there.phases[0].objects[0].traffic
    expected = 1e6 * (1 - (1 << log2) / (64 << 20))
    assert traffic.read_misses.indirect == pytest.approx(expected, rel=1e-6)
    assert traffic.write_backs == pytest.approx(expected / 2, rel=1e-6)
    assert traffic.read_sequential.indirect == pytest.approx(expected / 10, rel=1e-6)
    assert there.cache.size_bytes == 1 << log2
    assert any("miss curves" in warning for warning in there.warnings)


def test_other_counts_stay_and_bursts_of_another_cache_are_dropped() -> None:
    workload = made_up()
    traffic = workload.phases[0].objects[0].traffic
    traffic.flushes, traffic.fences, traffic.nt_store_bytes = 1000.0, 900.0, 64.0 * 50
    traffic.log_bytes, traffic.tlb_misses_4k, traffic.transfers = 7.0, 8.0, 9.0
    code = Bursts(code=[], blocks=[], accesses=[], phases=[])
    workload = msgspec.structs.replace(workload, bursts=code)
    there = on_other_machine(workload, NEAR, llc_bytes=64 << 20)
    # Nothing misses, but non-temporal stores and flushes still reach memory.
    expected = msgspec.structs.replace(
        traffic,
        read_misses=AccessClasses(),
        read_sequential=AccessClasses(),
        write_backs=1050.0,
    )
    assert there.phases[0].objects[0].traffic == expected
    assert there.bursts is None
    assert any("bursts are left out" in warning for warning in there.warnings)
    assert on_other_machine(workload, NEAR, llc_bytes=1 << 20).bursts is code


def test_a_cache_that_holds_everything_misses_nothing() -> None:
    there = on_other_machine(made_up(), NEAR, llc_bytes=64 << 20)
    assert there.phases[0].objects[0].traffic.misses() == 0.0


def test_without_curves_or_beyond_them_it_is_refused() -> None:
    bare = msgspec.structs.replace(made_up(), curve_bytes=[])
    with pytest.raises(NearfarError, match="no miss curves"):
        on_other_machine(bare, NEAR, llc_bytes=1 << 22)
    with pytest.raises(NearfarError, match="outside the profile's miss curves"):
        on_other_machine(made_up(), NEAR, llc_bytes=1 << 42)
    workload = made_up()
    row = msgspec.structs.replace(workload.phases[0].objects[0], curve=None)
    phase = msgspec.structs.replace(workload.phases[0], objects=[row])
    with pytest.raises(NearfarError, match="have miss curves"):
        on_other_machine(msgspec.structs.replace(workload, phases=[phase]), NEAR, llc_bytes=1 << 22)


def test_given_near_times_replace_the_measured_ones() -> None:
    workload = made_up()
    name = workload.phases[0].name
    there = on_other_machine(workload, NEAR, near_times_ns=parse_near_times(["4e2ms"], [name]))
    assert there.phases[0].near_cpu_time_ns.value == 4e8
    assert there.phases[0].near_wall_time_ns == pytest.approx(4e8)


def test_near_time_in_the_same_memory_equals_the_measured_one() -> None:
    there = on_other_machine(made_up(), NEAR, here=NEAR)
    assert there.phases[0].near_cpu_time_ns.value == pytest.approx(2e8, rel=1e-6)


def counted_by_stores() -> WorkloadProfile:
    """Return a profile of atomic additions: misses are reads, their touches count as stores."""
    workload = made_up()
    row = workload.phases[0].objects[0]
    assert row.curve is not None
    curve = MissCurve(read=[0.0] * len(row.curve.read), write=row.curve.read)
    instruction = msgspec.structs.replace(workload.instructions[0], operation="both")
    phase = msgspec.structs.replace(
        workload.phases[0],
        objects=[msgspec.structs.replace(row, curve=curve)],
        instructions=[InstructionTraffic(instruction=0, object=0, misses=row.traffic.misses())],
    )
    return msgspec.structs.replace(workload, instructions=[instruction], phases=[phase])


def test_misses_of_atomic_additions_follow_the_curve_of_stores() -> None:
    expected = on_other_machine(made_up(), NEAR, llc_bytes=1 << 24).phases[0].objects[0].traffic
    workload = counted_by_stores()
    assert (
        on_other_machine(workload, NEAR, llc_bytes=1 << 24).phases[0].objects[0].traffic == expected
    )
    # A smaller cache has more of them, each counted once.
    smaller = workload.cache.size_bytes // 2
    expected_there = on_other_machine(made_up(), NEAR, llc_bytes=smaller).phases[0].objects[0]
    there = on_other_machine(workload, NEAR, llc_bytes=smaller).phases[0].objects[0]
    assert there.traffic == expected_there.traffic
    # Without instructions, as in a profile that kept none of them.
    phase = msgspec.structs.replace(workload.phases[0], instructions=[])
    bare = msgspec.structs.replace(workload, phases=[phase])
    assert on_other_machine(bare, NEAR, llc_bytes=1 << 24).phases[0].objects[0].traffic == expected


def test_loads_beside_atomic_additions_keep_their_own_curve() -> None:
    workload = counted_by_stores()
    phase, row = workload.phases[0], workload.phases[0].objects[0]
    assert row.curve is not None
    half = row.traffic.misses() / 2
    # Loads miss alike in every cache, additions as the curve says.
    curve = MissCurve(read=[half] * len(row.curve.read), write=row.curve.write)
    additions = InstructionTraffic(instruction=0, object=0, misses=half)
    phase = msgspec.structs.replace(
        phase, objects=[msgspec.structs.replace(row, curve=curve)], instructions=[additions]
    )
    there = on_other_machine(
        msgspec.structs.replace(workload, phases=[phase]), NEAR, llc_bytes=64 << 20
    )
    assert there.phases[0].objects[0].traffic.misses() == pytest.approx(half)


def test_atomic_additions_take_their_near_time_in_the_same_memory() -> None:
    workload = counted_by_stores()
    there = on_other_machine(workload, NEAR, llc_bytes=workload.cache.size_bytes, here=NEAR)
    assert there.phases[0].near_cpu_time_ns.value == pytest.approx(2e8, rel=1e-6)


def test_a_slower_near_memory_a_smaller_cache_and_a_slower_clock_each_take_longer() -> None:
    def near_ns(**given: object) -> float:
        near = given.pop("near", NEAR)
        there = on_other_machine(made_up(), near, here=NEAR, **given)  # type: ignore[arg-type]
        return there.phases[0].near_cpu_time_ns.value

    same = near_ns()
    assert near_ns(near=SLOWER) > 1.05 * same
    assert near_ns(llc_bytes=1 << 25) < 0.95 * same
    faster, slower = near_ns(frequency_ratio=2.0), near_ns(frequency_ratio=0.5)
    assert faster <= same <= slower


@pytest.mark.parametrize("text", ["3", "3 h", "-1s", "1..2s", "s"])
def test_unreadable_times_are_refused(text: str) -> None:
    with pytest.raises(NearfarError, match="cannot read the time"):
        parse_time_ns(text)


def test_a_time_of_an_unknown_phase_is_refused_with_the_nearest_name() -> None:
    workload = made_up()
    name = workload.phases[0].name
    with pytest.raises(NearfarError, match="did you mean"):
        on_other_machine(workload, NEAR, near_times_ns={name + "x": 1.0})
    with pytest.raises(NearfarError, match="must name a phase"):
        parse_near_times(["3s"], ["a", "b"])
    with pytest.raises(NearfarError, match="expected the other machine's clock"):
        on_other_machine(workload, NEAR, here=NEAR, frequency_ratio=100.0)
