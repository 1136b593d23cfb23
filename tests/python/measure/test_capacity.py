"""Cache capacity from chases, on curves of known caches."""

from __future__ import annotations

import pytest

from nearfar.measure.figures import effective_llc_bytes

MIB = 1 << 20


def curve(capacity_bytes: int, llc_bytes: int, step: int) -> dict[int, float]:
    """Return ns by region for a cache that holds a random `capacity_bytes` of the chased data."""
    latency: dict[int, float] = {}
    size = MIB
    while size <= 8 * llc_bytes:
        hit = min(1.0, capacity_bytes / size)
        latency[size] = 4.0 if size <= MIB else hit * 15 + (1 - hit) * 150
        size *= step
    return latency


@pytest.mark.parametrize("capacity_mib", [5, 8, 11, 20, 32])
def test_a_share_of_the_cache_is_recovered(capacity_mib: int) -> None:
    result = effective_llc_bytes(curve(capacity_mib * MIB, 32 * MIB, 2), MIB, 32 * MIB)
    # The largest region still hits now and then: memory appears slightly faster than it is.
    assert result == pytest.approx(capacity_mib * MIB, rel=0.06)


def test_coarse_steps_err_to_the_small_side_and_never_exceed_the_cache() -> None:
    result = effective_llc_bytes(curve(32 * MIB, 32 * MIB, 4), MIB, 32 * MIB)
    assert result is not None
    assert 16 * MIB <= result <= 32 * MIB


def test_a_capacity_outside_of_the_regions_is_not_seen() -> None:
    assert effective_llc_bytes({}, MIB, 32 * MIB) is None
    assert effective_llc_bytes({4 * MIB: 15.0, 16 * MIB: 15.0}, MIB, 32 * MIB) is None
    flat = {size * MIB: 100.0 for size in (4, 16, 64, 256)}
    assert effective_llc_bytes(flat, MIB, 32 * MIB) is None


@pytest.mark.parametrize("error", [-0.2, 0.1, 0.3])
def test_the_opposite_error_of_latencies_recovers_the_capacity(error: float) -> None:
    """Noise of the last level's latencies shifts the capacity; its inverse shifts it back."""
    raised = {8 * MIB, 16 * MIB, 32 * MIB}
    noisy = {
        size: ns * (1 + error) if size in raised else ns
        for size, ns in curve(8 * MIB, 32 * MIB, 2).items()
    }
    result = effective_llc_bytes(noisy, MIB, 32 * MIB)
    undone = effective_llc_bytes(noisy, MIB, 32 * MIB, 1 / (1 + error) - 1)
    assert result is not None
    assert undone is not None
    assert abs(undone - 8 * MIB) < abs(result - 8 * MIB)
