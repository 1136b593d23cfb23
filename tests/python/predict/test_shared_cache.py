"""The loss to a co-runner in a shared cache depends on how soon a program reuses lines."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.predict.shared_cache import RegionChases, TakenCache, fill_ns
from nearfar.predict.traffic import PhaseMissCurve

MIB = float(1 << 20)
REGIONS = np.array([0.5, 2.0, 3.0, 8.0, 32.0, 64.0, 128.0]) * MIB
NEAR_NS = np.array([5.0, 13.0, 15.0, 20.0, 85.0, 150.0, 155.0])
BESIDE_NS = np.array([5.0, 14.0, 150.0, 180.0, 200.0, 205.0, 210.0])
ACCESSES = 1e6


def chases(far_ns: np.ndarray = BESIDE_NS) -> RegionChases:
    return RegionChases(REGIONS, NEAR_NS, far_ns, 205.0)


def reused_after(distance_bytes: float) -> PhaseMissCurve:
    """Return reuse in which all lines are used again after this many bytes."""
    sizes = np.geomspace(MIB / 32, 256 * MIB, 53)
    return PhaseMissCurve(sizes, np.where(sizes < distance_bytes, ACCESSES, 0.0), int(8 * MIB))


def test_a_loop_touches_its_bytes_in_the_time_of_a_round() -> None:
    curve = reused_after(4 * MIB)
    within = int(np.searchsorted(curve.sizes_bytes, 2 * MIB))
    round_ns = ACCESSES * 10.0 * curve.sizes_bytes[within] / 64 / ACCESSES
    assert fill_ns(curve, ACCESSES * 10.0)[within] == pytest.approx(round_ns, rel=0.2)


def test_the_flow_fills_the_cache_before_a_chase_returns() -> None:
    # Half of a miss's time is waited for near at 32 MiB; a chase over 3 MiB returns after 7.4 ms.
    flow = (32.0 - 3.0) * MIB / (3 * MIB / 64 * 150.0)
    assert chases().flow_gb_per_s() == pytest.approx(flow, rel=0.05)


def test_next_to_a_core_with_its_own_cache_nothing_flows() -> None:
    slower = NEAR_NS * np.where(NEAR_NS > 100.0, 1.3, 1.0)
    assert chases(slower).flow_gb_per_s() == 0.0


@pytest.mark.parametrize(("each_ns", "least", "most"), [(5.0, 0.0, 0.05), (150.0, 0.5, 1.0)])
def test_a_short_reuse_time_keeps_lines(each_ns: float, least: float, most: float) -> None:
    taken = TakenCache(reused_after(3 * MIB), chases(), ACCESSES * each_ns, MIB)
    assert least <= taken.lines(1.0) / ACCESSES <= most
    assert taken.max_lines() / ACCESSES > 0.5


def test_a_program_that_is_slower_loses_more() -> None:
    taken = TakenCache(reused_after(3 * MIB), chases(), ACCESSES * 15.0, MIB)
    lost = [taken.lines(slowdown) for slowdown in (1.0, 2.0, 4.0, 10.0)]
    assert lost == sorted(lost)
    assert lost[-1] > 2.0 * lost[0]


def test_lines_in_the_cores_own_caches_are_not_lost() -> None:
    taken = TakenCache(reused_after(0.5 * MIB), chases(), ACCESSES * 1e4, MIB)
    assert taken.lines(1.0) == 0.0


@pytest.mark.parametrize(
    ("near_ns", "far_ns", "far_miss_ns"),
    [
        (NEAR_NS[-1] * np.ones(7), BESIDE_NS, 205.0),
        (NEAR_NS, np.minimum(BESIDE_NS, 10.0), 205.0),
        (NEAR_NS, BESIDE_NS, 10.0),
    ],
)
def test_chases_without_distinct_hits_are_not_used(
    near_ns: np.ndarray, far_ns: np.ndarray, far_miss_ns: float
) -> None:
    assert chases().separate_hits()
    assert not RegionChases(REGIONS, near_ns, far_ns, far_miss_ns).separate_hits()
