"""The terminal's view: curves grow with the samples."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console

from nearfar.measure import live
from nearfar.samples.point import Sample, SamplePoint

SIZES = [1 << shift for shift in range(15, 29)]


def chase(region_bytes: int, page_bytes: int = 2 << 20) -> SamplePoint:
    return SamplePoint("latency", "chase", page_bytes, region_bytes)


def test_a_curve_has_the_medians_at_the_largest_page_size() -> None:
    curves = live.LiveCurves()
    for page_bytes in (4096, 2 << 20, 4096):
        for value in (9.0, 1.0, 2.0) if page_bytes > 4096 else (50.0,):
            curves.add(chase(1 << 20, page_bytes), Sample(value))
    assert curves.latency() == [(1 << 20, 2.0)]


def test_the_view_has_a_bar_and_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "DRAWN_EVERY_S", 0.0)
    out = io.StringIO()
    view = live.LiveView(Console(file=out, force_terminal=True, width=120), most_s=60.0)
    threads = threading.active_count()
    with view.live:
        for at, size in enumerate(SIZES):
            view.seen(chase(size), Sample(1.5 * 1.4**at))
        view.tell("measuring 14 points, round 1", 0.5)
        assert threading.active_count() == threads
    drawn = out.getvalue()
    assert "measuring 14 points" in drawn
    assert "50%" in drawn
    assert "1.5 at 32.0 KiB" in drawn
    assert "at 256 MiB" in drawn


def test_a_narrow_terminal_has_the_bar_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "DRAWN_EVERY_S", 0.0)
    out = io.StringIO()
    view = live.LiveView(Console(file=out, force_terminal=True, width=60), most_s=None)
    with view.live:
        for size in SIZES:
            view.seen(chase(size), Sample(2.0))
    assert "by region" not in out.getvalue()
