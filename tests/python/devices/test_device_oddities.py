"""Dips, fold-backs and negative idle bandwidths are detected."""

from __future__ import annotations

from nearfar.devices.oddities import DIP_SHARE, FOLD_SHARE, detect_oddities

RISING = [(float(x), 100.0 + 2 * x) for x in range(20)]


def test_a_rising_curve_has_no_anomaly() -> None:
    assert detect_oddities(RISING) == []
    assert detect_oddities([]) == []


def test_a_dip_counts_from_its_minimum_depth_on() -> None:
    deep = 110.0 * (1 - DIP_SHARE)
    points = [(0.0, 100.0), (5.0, 110.0), (6.0, deep - 0.01), (7.0, 120.0)]
    assert detect_oddities(points) == ["dip at 6 GB/s: 107.8 ns after 110 ns at 5 GB/s"]
    points[2] = (6.0, deep + 0.01)
    assert detect_oddities(points) == []


def test_two_dips_are_two_anomalies() -> None:
    points = [(0.0, 100.0), (1.0, 90.0), (2.0, 105.0), (3.0, 80.0), (4.0, 95.0)]
    assert [text.split(":")[0] for text in detect_oddities(points)] == [
        "dip at 1 GB/s",
        "dip at 3 GB/s",
    ]


def test_a_fold_back_counts_from_its_minimum_size_on() -> None:
    least = 20.0 * (1 - FOLD_SHARE)
    assert detect_oddities([(0.0, 100.0), (20.0, 300.0), (least - 0.01, 400.0)]) == [
        "folds back past 20 GB/s to 19.89 GB/s"
    ]
    assert detect_oddities([(0.0, 100.0), (20.0, 300.0), (least + 0.01, 400.0)]) == []


def test_bandwidth_below_zero_is_flagged() -> None:
    assert detect_oddities([(-0.4, 92.0), (10.0, 99.0)]) == [
        "bandwidth below zero at idle (-0.4 GB/s): residue of the counters' zero"
    ]
