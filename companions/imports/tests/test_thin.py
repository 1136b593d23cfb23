"""Curves keep their dips, fold-backs and knees with fewer points."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nearfar.devices.oddities import detect_oddities
from nearfar_imports.thin import thin

curve = st.lists(
    st.tuples(st.floats(-1, 200, width=32), st.floats(50, 900, width=32)), min_size=2, max_size=90
)


@given(curve)
def test_thinning_keeps_every_anomaly_and_the_order(points: list[tuple[float, float]]) -> None:
    kept = thin(points, 12)
    assert detect_oddities(kept) == detect_oddities(points)
    rest = iter(points)
    assert all(point in rest for point in kept), "a point was moved or invented"
    assert len(kept) <= len(points)


def test_thinning_keeps_the_knee() -> None:
    points = [(float(x), 100.0 if x < 50 else 100.0 + (x - 50) * 20) for x in range(60)]
    kept = thin(points, 8)
    assert len(kept) == 8
    assert any(abs(x - 49.5) <= 1.5 for x, _ in kept)
    assert thin(points, 60) == points
