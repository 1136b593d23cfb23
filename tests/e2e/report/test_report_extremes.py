"""Pages of an empty profile, of ten thousand objects, and of the whole device library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples

from nearfar.api import report
from nearfar.devices.library import device_names, load_device
from nearfar.documents import WorkloadProfile
from nearfar.report.render import render


def write(profile: WorkloadProfile, folder: Path, names: list[str]) -> Path:
    path = folder / "report.html"
    fars = [load_device(name) for name in names]
    path.write_text(render(report(profile=profile, near=samples.device("near"), far=fars)))
    return path


@pytest.mark.parametrize("lacks", ["phases", "objects", "both", "live", "misses", "curves"])
def test_missing_data_are_reported(
    lacks: str, tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    profile = samples.workload(objects=6)
    names = ["optane-100-6dimm"]
    if lacks in ("objects", "both"):
        profile.objects = []
        for phase in profile.phases:
            phase.objects, phase.instructions = [], []
    if lacks in ("phases", "both"):
        profile.phases = []
    if lacks in ("live", "objects", "both"):
        profile.live = []
    if lacks == "misses":
        for phase in profile.phases:
            phase.objects, phase.instructions = [], []
    if lacks == "curves":
        names = ["cxl-micron-cz120"]
    opened = open_page(write(profile, tmp_path, names), wait_for="#frontier svg text")
    page = opened.page
    assert opened.troubles == []
    message = {
        "phases": "Nothing was predicted for store",
        "objects": "The profile holds no object of any size",
        "both": "Nothing was predicted for store",
        "live": "fewer than two samples of live memory",
        "misses": "names no source line for this phase",
        "curves": "No curve is known for Micron CZ120",
    }[lacks]
    assert message in page.text_content("body")
    for word in ("NaN", "undefined", "Infinity", "null,"):
        assert word not in page.inner_text("body")


@pytest.mark.long
def test_ten_thousand_objects(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    profile = samples.workload(objects=10_000, phases=("get",))
    path = write(profile, tmp_path, ["optane-100-6dimm"])
    assert path.stat().st_size < 7_000_000
    opened = open_page(path)
    page = opened.page
    assert page.locator("#object-table tbody tr").count() == 25
    assert page.locator("#treemap svg g").count() <= 301
    assert "of 10000 objects" not in page.text_content("#near-objects")
    before = page.get_attribute("#slow", "data-value")
    page.fill("#object-filter", "make_9999 ")
    page.evaluate(
        """() => { const slider = document.getElementById("budget"); slider.value = 60;
           slider.dispatchEvent(new Event("input", { bubbles: true })); }"""
    )
    assert page.get_attribute("#slow", "data-value") != before
    assert page.locator("#object-table tbody tr").count() == 1
    assert opened.troubles == []


@pytest.mark.long
def test_the_whole_library(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    profile = samples.workload(objects=8, phases=("get",))
    path = write(profile, tmp_path, device_names())
    for width in (390, 1200):
        opened = open_page(path, width=width)
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#slowdown .row-button").count() == len(device_names())
        assert page.locator("#memory option").count() == len(device_names())
        assert opened.troubles == []
