"""How soon the page of a large report answers in Chromium."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import Row, alternate, make_row, wall_seconds
from nearfar.api import report
from nearfar.devices.library import load_device
from nearfar.report.render import render

SECONDS = 20

OBJECTS = 10_000
FAR = "optane-100-6dimm"
OPENINGS, MOVES = 7, 21

PAINTED = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
"""Waits until the browser has painted what was changed."""

MOVE = f"""async (percent) => {{
    const slider = document.getElementById("budget"), begin = performance.now();
    if (percent !== null) {{
        slider.value = percent;
        slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    }}
    {PAINTED}
    return performance.now() - begin;
}}"""
"""Milliseconds from a move of the slider, or from nothing, until the page is painted."""


def rows() -> list[Row]:
    """Open the page and an empty one in turns, then move the slider and wait a frame in turns."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python"))
    import samples

    profile = samples.workload(objects=OBJECTS, phases=("get",))
    made = report(profile=profile, near=samples.device("near"), far=[load_device(FAR)])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path, empty = Path(folder) / "report.html", Path(folder) / "empty.html"
        path.write_text(render(made))
        empty.write_text("<!doctype html><title>empty</title>")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        openings = [lambda file=file: _opening_s(browser, file) for file in (path, empty)]
        opened_s, empty_s = map(statistics.median, alternate(openings, OPENINGS))
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("#frontier svg path")
        moved_ms, frame_ms = _moves_ms(page)
        browser.close()
    command = "ONLY=report_page python -m benchmarks"
    return [
        make_row(
            f"the report of {OBJECTS} objects opens in Chromium, drawn",
            opened_s,
            "s",
            bar=1.5,
            peer="an empty page",
            peer_value=empty_s,
            command=command,
        ),
        make_row(
            f"the slider of the report of {OBJECTS} objects answers, drawn",
            moved_ms,
            "ms",
            bar=50.0,
            peer="a frame without a move",
            peer_value=frame_ms,
            command=command,
        ),
    ]


def _opening_s(browser: Any, path: Path) -> float:
    """Return the seconds from navigation until the page is painted."""
    page = browser.new_page()

    def opened() -> None:
        page.goto(path.as_uri())
        page.evaluate(f"async () => {{ {PAINTED} }}")

    seconds = wall_seconds(opened)
    page.close()
    return seconds


def _moves_ms(page: Any) -> tuple[float, float]:
    """Return the median times of a move and of a frame; each move changes what is shown."""
    moved, frames = [], []
    before = None
    for move in range(MOVES):
        moved.append(page.evaluate(MOVE, 5 + 90 * ((8 * move) % MOVES) / MOVES))
        shown = page.get_attribute("#slow", "data-value")
        assert shown != before, "the slider changed nothing"
        before = shown
        frames.append(page.evaluate(MOVE, None))
    return statistics.median(moved), statistics.median(frames)
