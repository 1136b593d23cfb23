"""A co-runner's share of the cache turns hits into misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from walked_memories import (
    HUGE,
    MIB,
    MISSES,
    NEAR,
    SMALL,
    chase,
    far,
    slowdown,
)

from nearfar.base.estimate import Estimate
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS, Perturbation
from nearfar.predict.shared_cache import lines_far, waits_far
from nearfar.predict.traffic import (
    PhaseMissCurve,
)


def in_cache(accesses: float) -> PhaseMissCurve:
    """Return a phase with that many accesses reused after 2 to 4 MiB and misses after 64."""
    sizes = np.array([MIB, 2 * MIB, 4 * MIB, 64 * MIB, 128 * MIB], dtype=float)
    misses = [accesses + MISSES, accesses + MISSES, MISSES, MISSES, 0.0]
    return PhaseMissCurve(sizes, np.array(misses), 8 * MIB)


def test_with_a_co_runner_hits_of_the_shared_cache_become_misses() -> None:
    near = near_memory(NEAR, HUGE)
    phase = chase(curve=in_cache(MISSES))
    there = far_memory(far(third_ns=350.0), near, page_bytes=SMALL)
    # All of them: a chase over 3 MiB waits as for memory. This is approximate, because a hit's own
    # time is in near time, and latency is interpolated between measured regions.
    assert 1.8 < lines_far(phase, near, there, taken=1.0) < 2.2
    # None of them in the middle of the interval, since a cache may keep reused lines from a stream
    # of stores.
    assert lines_far(phase, near, there) == 1.0
    kind, alone = MODELS.get("inversion"), far_memory(far(), near, page_bytes=SMALL)
    losing, keeping = (
        far_estimate(kind, phase, near, side, kind(phase, near, side)).slowdown
        for side in (there, alone)
    )
    assert losing.value == pytest.approx(keeping.value)
    assert losing.high > 1.25 * keeping.high
    all_lost = kind(phase, near, there, Perturbation(taken=1.0))
    assert losing.high >= float(all_lost.times_ns(phase.total)) / phase.near_time_ns.value
    assert losing.low <= losing.value


def test_hits_that_overlapped_near_overlap_where_they_miss() -> None:
    near = near_memory(NEAR, HUGE)
    there = far_memory(far(third_ns=350.0), near, page_bytes=SMALL)
    # Four hits of 15 ns per miss fit into near time in sequence, 80 do not.
    few, many = chase(curve=in_cache(2.0 * MISSES)), chase(curve=in_cache(80.0 * MISSES))
    quick = replace(many, near_time_ns=Estimate(MISSES * 300.0, MISSES * 300.0, MISSES * 300.0))
    serial = replace(quick, near_time_ns=Estimate(*[MISSES * 2000.0] * 3))
    assert waits_far(few, near, there, 1.0) > 0.8 * lines_far(few, near, there, 1.0)
    assert waits_far(quick, near, there, 1.0) < 0.4 * lines_far(quick, near, there, 1.0)
    assert waits_far(serial, near, there, 1.0) == pytest.approx(lines_far(serial, near, there, 1.0))


def test_without_a_load_or_a_difference_the_cache_is_unchanged() -> None:
    near = near_memory(NEAR, HUGE)
    phase = chase(curve=in_cache(MISSES))
    for there in (far(), far(third_ns=350.0, load="none")):
        assert lines_far(phase, near, far_memory(there, near, page_bytes=SMALL)) == pytest.approx(1)


@given(walks=st.floats(0.0, 5.0), third_ns=st.floats(15.0, 350.0), hits=st.floats(0.0, 1e7))
def test_more_walks_and_less_cache_never_make_far_memory_faster(
    walks: float, third_ns: float, hits: float
) -> None:
    curve = in_cache(hits)
    least = slowdown(chase(0.0, curve), far())
    assert slowdown(chase(walks, curve), far(third_ns)) >= least - 1e-9
