"""Page walks in far memory, at misses and at hits."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from walked_memories import (
    HAD,
    HUGE,
    MIB,
    MISSES,
    NEAR,
    SMALL,
    WALKS_NS,
    by_regions,
    chase,
    device,
    far,
    slowdown,
)

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile
from nearfar.documents.device import ChainsFigure, LatencyFigure
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.memory import MAX_CHAINS, ProgramReads
from nearfar.predict.model import MODELS
from nearfar.predict.traffic import (
    COLUMNS,
    INDEPENDENT,
    WRITE_BACK,
    PageTouches,
    PhaseTraffic,
)
from nearfar.predict.walks import as_walked


@pytest.mark.parametrize("name", ["inversion", "chains"])
@pytest.mark.parametrize(
    ("walks_per_miss", "far_ns"),
    [
        (1.0, 350.0),
        (0.0, 200.0),
        (0.5, 275.0),
        (None, 350.0),
        (9.0, 350.0),
    ],
)
def test_a_miss_waits_for_as_many_walks_as_the_profile_counts(
    name: str, walks_per_miss: float | None, far_ns: float
) -> None:
    assert slowdown(chase(walks_per_miss), far(), name) == pytest.approx(far_ns / 150.0)


def test_far_data_have_the_pages_of_near_data_unless_reported_otherwise() -> None:
    near = near_memory(NEAR, HUGE)
    assert far_memory(far(), near).cost_ns(1) == pytest.approx(200.0)
    assert far_memory(far(), near, page_bytes=SMALL).cost_ns(1) == pytest.approx(350.0)


@pytest.mark.parametrize(
    ("size_bytes", "walk_ns"), [(128 * MIB, 150.0), (1 << 40, 150.0), (64 * MIB, 75.0), (1, 30.0)]
)
def test_walks_over_less_data_are_faster(size_bytes: int, walk_ns: float) -> None:
    phase = replace(chase(), walked_bytes=float(size_bytes))
    assert slowdown(phase, by_regions(WALKS_NS)) == pytest.approx((200.0 + walk_ns) / 150.0)
    assert slowdown(phase, far()) == pytest.approx(350.0 / 150.0)


def test_accesses_with_cached_translations_do_not_shorten_walks() -> None:
    # Half of the accesses over 32 MiB walk, and three quarters of those over 64 MiB.
    phase = replace(chase(), walked_bytes=32.0 * MIB, translated_bytes=16.0 * MIB)
    there = by_regions({32 * MIB: 50.0, 64 * MIB: 75.0, 128 * MIB: 150.0 * 7 / 8})
    assert slowdown(phase, there) == pytest.approx((200.0 + 150.0 * 100 / 150) / 150.0)


@pytest.mark.parametrize("size_bytes", [128 * MIB, 32 * MIB])
def test_walks_measured_over_the_programs_own_data_keep_their_length(size_bytes: int) -> None:
    near = near_memory(NEAR, HUGE)
    phase = replace(chase(), walked_bytes=float(size_bytes))
    there = far_memory(
        by_regions(WALKS_NS),
        near,
        page_bytes=SMALL,
        program=ProgramReads(far_ns=275.0, size_bytes=float(size_bytes)),
    )
    model = MODELS.get("inversion")(phase, near, there)
    assert float(model.times_ns(phase.total)) == pytest.approx(275.0 * MISSES)


def test_own_data_that_a_cache_holds_in_part_have_the_walks_beyond_it() -> None:
    near = near_memory(NEAR, HUGE)
    # Half of the reads hit near and far: 75 of 150 ns, and 100 of 200; the rest of 175 ns is walks.
    reads = ProgramReads(far_ns=175.0, near_ns=75.0)
    there = far_memory(far(), near, page_bytes=SMALL, program=reads)
    model = MODELS.get("inversion")(chase(walks_per_miss=0.5), near, there)
    assert float(model.times_ns(chase().total)) == pytest.approx((200.0 + 0.5 * 75.0) * MISSES)
    no_near = far_memory(far(), near, page_bytes=SMALL, program=ProgramReads(far_ns=175.0))
    assert no_near.own_walks is not None
    assert there.own_walks is not None
    assert np.all(no_near.own_walks < there.own_walks)


def touching(walks: dict[int, float], per_miss: float = 1.0) -> PhaseTraffic:
    """Return misses whose pages were last touched so many bytes before, in walks per miss."""
    sizes = np.array([MIB, *(size * factor for size in sorted(walks) for factor in (1, 1.01))])
    beyond = [sum(w for at, w in walks.items() if at >= size) * MISSES for size in sizes]
    touches = PageTouches(sizes.astype(float), np.array(beyond))
    return replace(chase(per_miss), page_touches=touches, translated_bytes=8.0 * MIB)


def test_walks_are_shorter_the_sooner_a_page_is_touched_again() -> None:
    there = by_regions(WALKS_NS)
    soon, later, late = (slowdown(touching({size * MIB: 1.0}), there) for size in (20, 48, 100))
    assert 200.0 / 150.0 < soon < later < late
    # Over 32 MiB an access walks for 30 ns. The TLB holds 8 MiB of it, so each walk takes 40 ns.
    assert soon == pytest.approx((200.0 + 40.0) / 150.0)


def test_touches_from_all_distances_of_a_chase_walk_as_it_does() -> None:
    sizes = np.linspace(MIB, 128 * MIB, 500)
    touches = PageTouches(sizes, MISSES * (1.0 - sizes / (128.0 * MIB)))
    per_miss = 1.0 - 8 / 128
    phase = replace(chase(per_miss), page_touches=touches, translated_bytes=8.0 * MIB)
    assert slowdown(phase, by_regions(WALKS_NS)) == pytest.approx(350.0 / 150.0, rel=0.01)


def test_walks_at_hits_wait_beside_those_of_misses_unless_near_time_has_them() -> None:
    there = by_regions(WALKS_NS)
    phase = touching({100 * MIB: 1.0, 20 * MIB: 3.0}, per_miss=4.0)
    alone = slowdown(touching({100 * MIB: 1.0}), there)
    assert slowdown(phase, there) == pytest.approx(alone + 3 * 40.0 / 150.0)
    assert slowdown(phase, there, "chains") == pytest.approx(alone + 3 * 40.0 / 150.0)
    near = near_memory(NEAR, HUGE)
    small = replace(near, walk_ns=150.0)
    far_side = far_memory(there, near, page_bytes=SMALL)
    assert as_walked(far_side, phase, near).hit_walks_ns == pytest.approx(3 * 40.0)
    assert as_walked(far_side, phase, small).hit_walks_ns == 0.0


def with_page_chases(there: DeviceProfile, walks_ns: dict[int, float]) -> DeviceProfile:
    """Return the memory with chases over a line of each page, whose walks take so long."""
    chases = [
        LatencyFigure(
            operation="read",
            pattern="strided",
            stride_bytes=SMALL + 64,
            region_bytes=region,
            page_bytes=page,
            value_ns=15.0 + walk_ns * (page == SMALL),
            **HAD,
        )
        for region, walk_ns in walks_ns.items()
        for page in (SMALL, HUGE)
    ]
    return msgspec.structs.replace(there, latency=[*there.latency, *chases])


def test_walks_at_hits_take_as_long_as_those_of_a_chase_over_cached_lines() -> None:
    there = with_page_chases(
        by_regions(WALKS_NS), {32 * MIB: 5.0, 64 * MIB: 11.0, 128 * MIB: 500.0}
    )
    misses_alone = touching({100 * MIB: 1.0})
    assert slowdown(misses_alone, there) == slowdown(misses_alone, by_regions(WALKS_NS))
    near = near_memory(NEAR, HUGE)
    far_side = far_memory(there, near, page_bytes=SMALL)
    # Up to 32 MiB a walk takes 5 ns; from there to 64 MiB the mean of 5 and 11 ns. The slowest
    # takes no longer than a miss's from as far: (128 * 150 - 64 * 75) / 64 = 225 ns.
    for distance, walk_ns in ((20, 5.0), (48, 8.0), (90, 225.0)):
        phase = touching({100 * MIB: 1.0, distance * MIB: 3.0}, per_miss=4.0)
        assert as_walked(far_side, phase, near).hit_walks_ns == pytest.approx(3 * walk_ns)


def test_without_page_chases_over_every_region_hits_walk_as_misses_do() -> None:
    there = with_page_chases(by_regions(WALKS_NS), {32 * MIB: 5.0, 64 * MIB: 11.0})
    phase = touching({100 * MIB: 1.0, 20 * MIB: 3.0}, per_miss=4.0)
    assert slowdown(phase, there) == slowdown(phase, by_regions(WALKS_NS))


def test_walks_at_hits_take_no_bandwidth() -> None:
    lines = np.zeros((1, COLUMNS))
    lines[0, [INDEPENDENT, WRITE_BACK]] = MISSES
    ns = MISSES * 75.0  # two misses of 150 ns in flight

    def added_ns(phase: PhaseTraffic) -> float:
        shared = replace(phase, objects=lines, concurrency=16.0, near_time_ns=Estimate(ns, ns, ns))
        return (slowdown(shared, by_regions(WALKS_NS)) - 1.0) * ns / MISSES

    walking = touching({100 * MIB: 1.0, 20 * MIB: 10.0}, per_miss=11.0)
    without = added_ns(touching({100 * MIB: 1.0}))
    assert without < added_ns(walking) <= without + 10 * 40.0 / 2


def test_regions_that_the_tlb_holds_tell_nothing_of_walks() -> None:
    inside = by_regions({4 * MIB: 90.0, **WALKS_NS})
    phase = touching({20 * MIB: 0.5, 100 * MIB: 0.5})
    assert slowdown(phase, inside) == pytest.approx(slowdown(phase, by_regions(WALKS_NS)))


def taken(
    walks_ns: dict[int, float], third_ns: float = 150.0, load: str = "store"
) -> DeviceProfile:
    """Return `by_regions` with a co-runner that takes a part of the cache, which holds 3 MiB."""
    there = by_regions(walks_ns)
    there = msgspec.structs.replace(there, measured=far(load=load).measured)
    near = msgspec.structs.replace(there.latency[0], page_bytes=SMALL)
    small = [
        msgspec.structs.replace(near, region_bytes=size, value_ns=ns)
        for size, ns in ((MIB // 2, 5.0), (3 * MIB, third_ns))
    ]
    return msgspec.structs.replace(there, latency=[*small, *there.latency])


def overlapped(at_once: float) -> PhaseTraffic:
    """Return misses of 128 MiB with `at_once` of them in flight, each with a walk."""
    ns = MISSES * 150.0 / at_once
    return replace(chase(), near_time_ns=Estimate(ns, ns, ns), walked_bytes=128.0 * MIB)


def walk_share(phase: PhaseTraffic, there: DeviceProfile, own_ns: float | None = None) -> float:
    """Return the part of the measured walks that a miss of the phase waits for."""
    near = near_memory(NEAR, HUGE)
    memory = far_memory(there, near, page_bytes=SMALL, program=ProgramReads(far_ns=own_ns))
    seen = as_walked(memory, phase, near)
    assert memory.unwalked_costs_ns is not None
    unwalked, walked = memory.unwalked_costs_ns[0], memory.chain_costs_ns[0]
    return float((seen.latency_ns - unwalked) / (walked - unwalked))


@pytest.mark.parametrize("own_ns", [None, 350.0])
def test_walks_are_faster_the_sooner_a_program_reuses_a_line_of_their_tables(
    own_ns: float | None,
) -> None:
    shares = [walk_share(overlapped(k), taken(WALKS_NS), own_ns) for k in (0.5, 1.0, 2.0, 8.0)]
    # Reuse as late as in the chases, or later, gives the same.
    assert shares[0] == pytest.approx(1.0)
    assert shares[1] == pytest.approx(1.0, abs=1e-3)
    assert shares[1] > shares[2] > shares[3]
    # The minimum is that of the smallest measured region.
    assert shares[3] >= WALKS_NS[32 * MIB] / WALKS_NS[128 * MIB]


def test_independent_reads_of_own_data_tell_of_walks_that_overlap() -> None:
    near = near_memory(NEAR, HUGE)
    counts = [figure.chains for figure in far().chains if figure.page_bytes == SMALL]
    chains = [
        ChainsFigure(chains=k, page_bytes=page, value_ns=ns / k, **HAD)
        for page, ns in ((HUGE, 200.0), (SMALL, 350.0))
        for k in (*counts, MAX_CHAINS)
    ]
    there = msgspec.structs.replace(by_regions(WALKS_NS), chains=chains)
    half, whole = 275.0, 350.0 / MAX_CHAINS
    seen = {
        independent_ns: as_walked(
            far_memory(
                there,
                near,
                page_bytes=SMALL,
                program=ProgramReads(far_ns=half, far_independent_ns=independent_ns),
            ),
            chase(),
            near,
        )
        for independent_ns in (None, whole)
    }
    for memory in seen.values():
        assert memory.cost_ns(1) == pytest.approx(half)
    assert seen[None].cost_ns(MAX_CHAINS) == pytest.approx(half / MAX_CHAINS)
    assert seen[whole].cost_ns(MAX_CHAINS) == pytest.approx(whole)
    assert half < 4 * seen[whole].cost_ns(4) < 350.0


def test_the_pace_of_many_chains_is_no_reason_to_shorten_their_walks() -> None:
    # A gather returns to its pages as soon as the chains that measured what it costs.
    near, there = (
        near_memory(NEAR, HUGE),
        far_memory(taken(WALKS_NS), near_memory(NEAR, HUGE), page_bytes=SMALL),
    )
    seen = as_walked(there, overlapped(8.0), near)
    assert seen.cost_ns(1) < 0.95 * there.cost_ns(1)
    assert seen.cost_ns(8) == pytest.approx(there.cost_ns(8), rel=0.02)


@pytest.mark.parametrize(("third_ns", "load"), [(15.0, "store"), (150.0, "none")])
def test_without_a_co_runner_tables_stay_in_the_cache(third_ns: float, load: str) -> None:
    assert walk_share(overlapped(8.0), taken(WALKS_NS)) < 0.9
    there = taken(WALKS_NS, third_ns, load)
    assert walk_share(overlapped(8.0), there) == pytest.approx(1.0)


@pytest.mark.parametrize("at_once", [1.0, 2.0, 4.0, 8.0])
def test_touches_spread_evenly_return_as_a_chase_does_beside_a_co_runner(at_once: float) -> None:
    sizes = np.linspace(MIB, 128 * MIB, 500)
    touches = PageTouches(sizes, MISSES * (1.0 - sizes / (128.0 * MIB)))
    phase = replace(
        overlapped(at_once), translated_bytes=8.0 * MIB, walks_per_miss=1.0 - 8.0 / 128.0
    )
    counted = walk_share(replace(phase, page_touches=touches), taken(WALKS_NS))
    assert counted == pytest.approx(walk_share(phase, taken(WALKS_NS)), rel=1e-3)


def test_pages_touched_once_do_not_lengthen_the_walks_of_others() -> None:
    sizes = np.linspace(MIB, 128 * MIB, 500)
    touches = PageTouches(sizes, MISSES * np.maximum(1.0 - sizes / (32.0 * MIB), 0.02))
    phases = [replace(overlapped(at_once), page_touches=touches) for at_once in (8.0, 4.0, 2.0)]
    phases = [replace(phase, translated_bytes=8.0 * MIB) for phase in phases]
    shares = [walk_share(phase, taken(WALKS_NS)) for phase in phases]
    assert shares == sorted(shares)


@given(
    walks=st.floats(0.0, 3.0),
    near_walk=st.floats(0.0, 200.0),
    far_walk=st.floats(0.0, 200.0),
    slower=st.floats(1.0, 4.0),
)
def test_with_small_near_pages_a_slower_memory_is_never_faster(
    walks: float, near_walk: float, far_walk: float, slower: float
) -> None:
    latencies = {MIB // 2: 5.0, 3 * MIB: 15.0}
    near_device = device(
        "near", {**latencies, 128 * MIB: 150.0 + near_walk}, {HUGE: 150.0, SMALL: 150.0 + near_walk}
    )
    chains_ns = {HUGE: 150.0 * slower, SMALL: 150.0 * slower + max(near_walk, far_walk)}
    there = device("far", {**latencies, 128 * MIB: chains_ns[SMALL]}, chains_ns)
    near = near_memory(near_device, SMALL)
    far_side = far_memory(there, near, page_bytes=SMALL)
    phase = chase(walks)
    for name in ("inversion", "chains"):
        far_ns = float(MODELS.get(name)(phase, near, far_side).times_ns(phase.total))
        assert far_ns >= phase.near_time_ns.value * (1.0 - 1e-6)


def test_longer_walks_than_the_chases_leave_costs_that_never_rise() -> None:
    flat = {1: 350.0, 2: 260.0, 4: 245.0, 8: 240.0}
    chains = [
        msgspec.structs.replace(figure, value_ns=flat[figure.chains])
        if figure.page_bytes == SMALL
        else figure
        for figure in far().chains
    ]
    noisy, near = msgspec.structs.replace(far(), chains=chains), near_memory(NEAR, HUGE)
    own = far_memory(noisy, near, page_bytes=SMALL, program=ProgramReads(far_ns=650.0))
    seen = as_walked(own, chase(1.0), near)
    assert seen.latency_ns == pytest.approx(650.0)
    assert np.all(np.diff(seen.chain_costs_ns) <= 0.0)


def test_parallel_threads_reuse_lines_as_soon_as_all_of_them_together() -> None:
    single = overlapped(2.0)
    assert walk_share(replace(single, concurrency=4.0), taken(WALKS_NS)) < walk_share(
        single, taken(WALKS_NS)
    )


def test_of_walks_to_one_line_of_a_table_the_first_counts() -> None:
    alone = replace(overlapped(1.0), walks_apart=1 / 3)
    assert walk_share(alone, by_regions(WALKS_NS)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("at_once", [1.0, 8.0])
@pytest.mark.parametrize("nearest_ns", [0.0, 1e-6])
def test_pages_that_return_without_a_walk_leave_no_walk_to_divide_by(
    at_once: float, nearest_ns: float
) -> None:
    walks_ns = {32 * MIB: nearest_ns, 64 * MIB: 75.0, 128 * MIB: 150.0}
    near = near_memory(NEAR, HUGE)
    there = far_memory(taken(walks_ns), near, page_bytes=SMALL)
    seen = as_walked(there, overlapped(at_once), near)
    costs = [seen.cost_ns(k) for k in (1, 2, 4, 8)]
    assert np.all(np.isfinite(costs))
    assert costs[0] > costs[1] > costs[2] > costs[3]
    assert costs[3] <= 200.0 / 8 + 150.0  # a miss and a whole walk


def test_walks_of_counted_lines_say_nothing_of_work_that_nothing_counted() -> None:
    near = near_memory(NEAR, HUGE)
    there = far_memory(far(), near, page_bytes=SMALL)
    phase = replace(chase(walks_per_miss=0.0), uncounted_share=1.0)
    kind = MODELS.get("inversion")
    estimate = far_estimate(kind, phase, near, there, kind(phase, near, there))
    assert estimate.slowdown.high >= 350.0 / 150.0
