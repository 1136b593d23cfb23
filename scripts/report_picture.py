"""Picture of a report's first screen for the README: answer, budget and frontier.

    .venv/bin/python scripts/report_picture.py build/demo/report.html docs/report.png

Needs Chromium (`apt-get install chromium`) and playwright (`pip install playwright`).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, MOST_HEIGHT = 1180, 1500
"""Pixels: a README is shown about 900 wide, so text stays readable at three quarters."""
HIDE = "#answer .answer-card ~ .answer-card, #answer .figcaption, #slowdown { display: none }"
"""One memory's answer and the budget section are enough for a first look."""


def picture(report: Path, output: Path) -> None:
    """Draw the top of `report` to `output`, a PNG."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("report_picture: chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": MOST_HEIGHT})
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("#frontier svg path")
        page.add_style_tag(content=HIDE)
        end = page.evaluate(
            "document.querySelector('#frontier .columns').getBoundingClientRect().bottom"
        )
        height = min(MOST_HEIGHT, int(end) + 24)
        output.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=output, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: report_picture.py REPORT.html PICTURE.png")
    picture(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.write(f"wrote {sys.argv[2]}\n")
