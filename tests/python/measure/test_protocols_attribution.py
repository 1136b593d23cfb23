"""Recipes on memories with known values: each cause gets exactly its nanoseconds."""

from __future__ import annotations

import pytest
from made_up_subject import MadeUpMemory

from nearfar.base.errors import NearfarError
from nearfar.documents.device import ProtocolResult
from nearfar.measure.protocols import RECIPES, describe, run_protocols
from nearfar.samples.point import Sample


def by_name(memory: MadeUpMemory, *names: str) -> dict[str, ProtocolResult]:
    return {each.name: each for each in run_protocols(memory, names or None)}


def optane(**changes: float) -> MadeUpMemory:
    """Return one DIMM: 377 ns of the medium, 311 of a 16 MiB buffer (MICRO 2020's chase)."""
    return MadeUpMemory(
        medium_ns=377, buffer_ns=311, buffer_bytes=16 << 20, tlb_ns=28, clock_ns=24, **changes
    )


def test_every_recipe_names_and_cites_its_source() -> None:
    for name in RECIPES.names():
        assert RECIPES.get(name).whose, name
    assert {"lattester-random", "lens-chase", "perma-op", "mlc-random-window", "lat-mem-rd",
            "multichase"} <= set(RECIPES.names())  # fmt: skip


def test_an_operation_timed_alone_includes_clock_and_tlb() -> None:
    """PerMA's 429 ns are a chase's 377 ns, 28 ns of the TLB and 24 ns of the clock here."""
    outcome = by_name(optane(), "perma-op")
    result = outcome["perma-op"]
    assert outcome["plain-chase"].value_ns == pytest.approx(377, rel=0.01)
    assert result.value_ns == pytest.approx(429, rel=0.01)
    assert result.attributed["tlb"] == pytest.approx(28, abs=4)
    assert result.attributed_low["tlb"] <= 28 <= result.attributed_high["tlb"]
    assert result.attributed["timer"] == 24
    assert "within noise: each" in describe(result)


def test_differences_add_up_to_the_whole() -> None:
    for result in by_name(optane()).values():
        plain = result.value_ns - sum(result.attributed.values())
        assert plain == pytest.approx(377, rel=0.015), result.name


def test_the_cost_of_fences_beyond_the_clock_is_a_separate_cause() -> None:
    result = by_name(optane(each_extra_ns=15), "perma-op")["perma-op"]
    assert result.attributed["each"] == pytest.approx(15, abs=4)
    assert result.attributed["timer"] == 24


def test_a_window_hides_buffer_misses_and_the_tlb() -> None:
    result = by_name(optane(), "mlc-random-window")["mlc-random-window"]
    assert result.value_ns == pytest.approx(311, rel=0.01)
    assert result.attributed["window"] < -50
    assert result.attributed_low["tlb"] <= 2
    assert abs(result.attributed["tlb"]) < 4


def test_the_order_makes_lmbench_fast_where_prefetchers_work() -> None:
    fast = by_name(optane(prefetched_strides=(64,)), "lat-mem-rd")["lat-mem-rd"]
    assert fast.attributed["prefetch"] < -300
    slow = by_name(MadeUpMemory(block_bytes=64), "lat-mem-rd")["lat-mem-rd"]
    assert abs(slow.attributed["prefetch"]) < 5


def test_multichase_prints_its_best_sample() -> None:
    result = by_name(optane(noise=0.03), "multichase")["multichase"]
    assert result.attributed["best-of"] < 0
    assert result.value_ns < 311


def test_unswitchable_causes_are_reported_and_not_attributed() -> None:
    memory = optane()
    memory.page_sizes = (4096,)
    memory.largest_bytes = 64 << 20
    memory.kernels = frozenset({"chase"})
    result = by_name(memory)
    assert "tlb" not in result["perma-op"].attributed
    assert "tlb not switched: the plain chase has small pages already" in result["perma-op"].note
    assert "64.0 MiB here, not 10.0 GiB" in result["perma-op"].note
    assert "there is no chase in order" in result["lat-mem-rd"].note


def test_shared_rungs_are_measured_once_a_round() -> None:
    memory = optane()
    run_protocols(memory, rounds=2)
    assert len(memory.asked) == 2 * len(set(memory.asked))


def test_a_custom_sampler_is_used_for_all() -> None:
    memory, stored = optane(), []

    def store(point: object) -> Sample:
        stored.append(point)
        return Sample(100.0)

    run_protocols(memory, rounds=1, sample=store)
    assert stored
    assert memory.asked == []


def test_an_unknown_protocol_suggests_the_nearest() -> None:
    with pytest.raises(NearfarError, match="did you mean 'lens-chase'"):
        run_protocols(optane(), ["lens-chasse"])


def test_time_ends_rounds_but_not_before_three() -> None:
    memory = optane()
    run_protocols(memory, rounds=9, seconds=0.0)
    assert len(memory.asked) == 3 * len(set(memory.asked))
