"""Text from the program stays text: names, files, source, command, phases, warnings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples

from nearfar.api import report
from nearfar.devices.library import load_device
from nearfar.report.render import render

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "'\"><svg onload=alert(2)>",
    "a\u2028b\u2029c{{ 7*7 }}{% raw %}&amp;",
    "]]>\\u003c/script\\u003e",
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    profile = samples.workload(objects=12)
    source = tmp_path / "evil.c"
    source.write_text("\n".join(NASTY[:4]).replace("\u2028", "") + "\n")
    for number, item in enumerate(profile.objects):
        item.name = NASTY[number % len(NASTY)] + str(number)
        for frame in item.frames:
            frame.function = frame.file = NASTY[number % len(NASTY)]
    for number, what in enumerate(profile.instructions):
        what.function = NASTY[number % len(NASTY)]
        what.file, what.line = (
            (str(source), 2) if number % 2 else (NASTY[number % len(NASTY)] + ".c", 1)
        )
    profile.program.command = ["./" + NASTY[0], *NASTY]
    profile.program.exit_status = profile.program.compiler = NASTY[1]
    profile.size = {NASTY[0]: 1.0}
    profile.warnings = list(NASTY)
    for phase, name in zip(profile.phases, NASTY[:2], strict=True):
        phase.name = name
    for number, sample in enumerate(profile.live):
        sample.phase = NASTY[number % 2]
    near = samples.device("near")
    near.title = NASTY[0]
    path = tmp_path / "report.html"
    path.write_text(
        render(report(profile=profile, near=near, far=[load_device("optane-100-6dimm")]))
    )
    return path


def test_nothing_runs_and_everything_is_shown_as_text(
    hostile: Path, open_page: Callable[..., Any]
) -> None:
    opened = open_page(hostile)
    page = opened.page
    page.select_option("#phase", NASTY[1])
    page.click("#object-table [data-key=name]")
    page.fill("#object-filter", "<img")
    page.mouse.move(300, 400)
    assert opened.troubles == []
    assert opened.requests == [hostile.as_uri()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert NASTY[0] in page.text_content("#object-table")
    assert NASTY[1] in page.text_content("#line-list pre .hit")
    assert NASTY[4] in page.text_content("#method")


def test_the_file_contains_no_markup_of_the_program(hostile: Path) -> None:
    text = hostile.read_text()
    assert "<img" not in text
    assert "<svg onload" not in text
    assert text.count("</script>") == 2
    assert "\u2028" not in text[text.index('id="report-data"') :]
