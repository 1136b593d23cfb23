"""Ways of buffers: from the rise of misses, also behind a processor cache, and from lines."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.measure.infer.capacity import Capacity, InferredBuffer
from nearfar.measure.infer.findings import Findings
from nearfar.measure.infer.inner import infer_inner
from nearfar.measure.infer.miss_curves import lru_misses, random_misses
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.structure import STEEP_RATIOS, steep_ratios, steep_rise
from nearfar.measure.model import ModelSubject
from nearfar.sim.parameters import DeviceModel, MemoryLevel, ThreadBandwidth

BANDWIDTH = ThreadBandwidth(8.0, 20.0)
STEP_NS = 110.0


def rise_of(misses, ways, off=1.04, seed=1):
    """Return the rise that noisy latencies show at the places for `ways`."""
    ratios = np.array(steep_ratios(ways)) * off
    noise = np.random.default_rng(seed).standard_normal(len(ratios))
    return steep_rise(ratios, (150 + STEP_NS * misses(ratios / off)) * np.exp(0.003 * noise), 0.003)


@pytest.mark.parametrize("ways", [2, 3, 4, 6, 8, 12, 16])
def test_lru_misses_rise_the_steeper_the_more_ways(ways):
    rise = rise_of(lambda ratio: lru_misses(ratio, ways), ways)
    assert rise.sure
    assert rise.ways == ways
    assert rise.factor == pytest.approx(1.04, abs=0.02)


def middle(ratio):
    """Return misses between LRU and random: half of them as in eight ways of LRU."""
    return (lru_misses(ratio, 8) + random_misses(ratio)) / 2


@pytest.mark.parametrize(
    "misses", [random_misses, middle, lambda ratio: lru_misses(ratio, 10**6)],
    ids=["random", "between", "fully associative"],
)  # fmt: skip
@pytest.mark.parametrize("places", [2, 4, 16])
def test_no_ways_are_inferred_from_another_rise(misses, places):
    assert not rise_of(misses, places).sure


def two_ways_of_random(ratio):
    """Return the misses of random sets of two ways, as simulated at blocks a set of 2, 3, 4, 5."""
    return np.interp(ratio * 2, [2, 3, 4, 5], np.array([0, 0.675, 0.861, 0.936]) * [2, 3, 4, 5]) / (
        ratio * 2
    ).clip(2)


def test_two_random_ways_are_not_taken_for_direct_mapping():
    assert not rise_of(two_ways_of_random, 2).sure
    ratios = np.array(STEEP_RATIOS)
    assert not steep_rise(ratios, 150 + STEP_NS * two_ways_of_random(ratios), 0.003).sure


def inferred(sets, ways, replacement, *, block=256, llc_bytes=0):
    """Return the buffer that inference shows if its capacity is known, and why parts are not."""
    capacity, step_ns = sets * ways * block, STEP_NS
    caches = (MemoryLevel("L2 cache", llc_bytes, 18.0, 64, 16),) if llc_bytes else ()
    model = DeviceModel(
        "ways",
        media_ns=150.0 + step_ns,
        read=BANDWIDTH,
        write=BANDWIDTH,
        nt_store=BANDWIDTH,
        caches=caches,
        buffers=(MemoryLevel("buffer 1", capacity, 150.0, block, ways, replacement),),
        granularity_bytes=block,
    )
    known = Capacity(capacity, capacity, capacity, 1.0, 150.0, True, step_ns, 1.09)
    figure = known.figure("buffer 1", "read-capacity")
    findings = Findings(buffers=[figure])
    probe = InferenceProbe(ModelSubject(model), 60.0, 6)
    infer_inner(probe, [InferredBuffer(figure, known, step_ns, 1 << 30)], findings)
    return findings.buffers[0], findings.not_seen


@pytest.mark.parametrize(("sets", "ways"), [(4096, 8), (7001, 4)])
def test_ways_are_seen_behind_a_last_level_cache(sets, ways):
    buffer, _ = inferred(sets, ways, "lru", llc_bytes=1 << 20)
    assert (buffer.ways, buffer.replacement) == (ways, "lru")


def test_the_cache_that_hides_ways_is_named_with_its_size():
    buffer, not_seen = inferred(4096, 8, "random", llc_bytes=1 << 20)
    assert buffer.ways is None
    assert "last-level cache of 1024 KiB" in not_seen["ways of buffer 1"]


def test_ways_of_any_number_of_sets_are_seen_without_a_cache():
    buffer, _ = inferred(1237, 4, "lru")
    assert buffer.ways == 4


@pytest.mark.parametrize("sets", [32, 32 * 27])
def test_lines_of_several_sets_are_not_taken_for_ways(sets):
    buffer, _ = inferred(sets, 2, "random")
    assert buffer.ways == 2 if sets == 32 else buffer.ways in (None, 2)
