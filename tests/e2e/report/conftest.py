"""A headless Chromium with pages that record forbidden events: errors and requests."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import patience

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS / "python"), str(TESTS / "python" / "report")]

CHROMIUM = os.environ.get("NEARFAR_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened:
    """Holds a page and its events since it was opened."""

    def __init__(self, page: Any, path: Path, wait_for: str) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(wait_for)

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.troubles.append(f"{kind}: {text}")

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not installed (apt-get install chromium, or NEARFAR_CHROMIUM)")
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a file with the screen's `width` and `color_scheme`."""
    yield from _opening(browser)


@pytest.fixture(scope="module")
def open_kept(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a file as `open_page` does, for all tests of a module: it takes 2 s of CPU time."""
    yield from _opening(browser)


def _opening(browser: Any) -> Iterator[Callable[..., Opened]]:
    opened: list[Any] = []

    def open_one(
        path: Path,
        width: int = 1200,
        color_scheme: str = "light",
        wait_for: str = "#frontier svg path",
    ) -> Opened:
        viewport = {"width": width, "height": 900}
        page = browser.new_page(viewport=viewport, color_scheme=color_scheme)
        page.set_default_timeout(1000 * patience(30))
        opened.append(page)
        return Opened(page, path, wait_for)

    yield open_one
    for page in opened:
        page.close()
