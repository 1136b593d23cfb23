"""Timer, TLB and prefetchers of made-up memories with known values."""

from __future__ import annotations

import pytest
from made_up_subject import MadeUpMemory

from nearfar.measure.instrument import Instrument, examine


def named(found: Instrument, name: str):
    return next(verdict for verdict in found.verdicts if verdict.name == name)


def test_a_subject_without_cpus_needs_nothing_of_the_machine() -> None:
    result = examine(MadeUpMemory())
    assert {verdict.name for verdict in result.verdicts} == {"timer", "tlb", "prefetch"}
    assert result.warnings == []


def test_the_tlbs_share_is_separated_with_an_interval_that_holds_the_true_value() -> None:
    result = examine(MadeUpMemory(medium_ns=100, tlb_ns=25))
    tlb = named(result, "tlb")
    assert float(tlb.facts["tlb_low_ns"]) <= 25 <= float(tlb.facts["tlb_high_ns"])
    assert float(tlb.facts["tlb_share"]) == pytest.approx(25 / 125, abs=0.02)
    assert {figure.page_bytes for figure in result.latency} == {4096, 2 << 20}


def test_pages_without_cost_are_reported_as_free() -> None:
    tlb = named(examine(MadeUpMemory(tlb_ns=0)), "tlb")
    assert "no more" in tlb.text
    assert float(tlb.facts["tlb_ns"]) == pytest.approx(0, abs=3)


def test_one_page_size_separates_nothing() -> None:
    small = named(examine(MadeUpMemory(page_sizes=(4096,))), "tlb")
    assert small.state == "unknown"
    huge = examine(MadeUpMemory(page_sizes=(2 << 20,)))
    assert all(verdict.name != "tlb" for verdict in huge.verdicts)


def test_a_clock_with_its_whole_cost_subtracted_is_good() -> None:
    assert named(examine(MadeUpMemory()), "timer").state == "good"


def test_fences_that_cost_beyond_the_clock_give_a_warning() -> None:
    result = examine(MadeUpMemory(medium_ns=100, each_extra_ns=30))
    timer = named(result, "timer")
    assert timer.state == "doubtful"
    assert float(timer.facts["timer_left_over_ns"]) == pytest.approx(30, abs=2)
    assert any("percentiles" in warning for warning in result.warnings)


def test_no_prefetcher_is_seen_where_none_exists() -> None:
    prefetch = named(examine(MadeUpMemory()), "prefetch")
    assert prefetch.facts["prefetched_strides_bytes"] == "none"
    assert float(prefetch.facts["prefetch_neighbour"]) == pytest.approx(1.0, abs=0.05)


def test_prefetched_strides_are_named_and_others_are_not() -> None:
    memory = MadeUpMemory(prefetched_strides=(64, 128, 256), adjacent=True)
    prefetch = named(examine(memory), "prefetch")
    assert prefetch.facts["prefetched_strides_bytes"] == "64,128,256"
    assert "adjacent-line prefetcher works" in prefetch.text


def test_a_devices_buffer_is_not_taken_for_a_prefetcher() -> None:
    """Blocks of 256 B at 181 of 377 ns (Optane 100, one DIMM) are cheaper but not prefetched."""
    memory = MadeUpMemory(medium_ns=377, buffer_ns=181, block_bytes=256)
    prefetch = named(examine(memory), "prefetch")
    assert prefetch.facts["prefetched_strides_bytes"] == "none"
    assert "64, 128 B are cheaper" in prefetch.text


def test_without_sequential_chases_neighbours_are_still_judged() -> None:
    prefetch = named(examine(MadeUpMemory(kernels=frozenset({"chase"}), adjacent=True)), "prefetch")
    assert "adjacent-line" in prefetch.text
    assert not any(key.startswith("stride_") for key in prefetch.facts)
