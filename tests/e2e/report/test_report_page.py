"""The report in a browser shows what its JSON contains, for every control."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import samples

from nearfar.api import report
from nearfar.devices.library import load_device
from nearfar.documents import save
from nearfar.report.data import ReportData
from nearfar.report.render import render, to_json

FARS = ("optane-100-6dimm", "cxl-micron-cz120", "ddr5-4800-remote")


@pytest.fixture(scope="module")
def profile() -> Any:
    return samples.workload(objects=60)


@pytest.fixture(scope="module")
def made(profile: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    data = report(
        profile=profile, near=samples.device("near"), far=[load_device(name) for name in FARS]
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(data))
    return path, json.loads(to_json(data))


@pytest.fixture(scope="module")
def kept(made: Any, open_kept: Callable[..., Any]) -> Any:
    """Return a page for tests that set all they look at, or look at what no control changes."""
    return open_kept(made[0]).page


def shown(page: Any, name: str) -> float:
    return float(page.get_attribute(f"#{name}", "data-value"))


def frontier(data: dict[str, Any], memory: str, phase: str) -> dict[str, Any]:
    return next(
        row for row in data["frontiers"] if (row["memory"], row["phase"]) == (memory, phase)
    )


def at(curve: dict[str, Any], budget: float) -> int:
    return max(i for i, stop in enumerate(curve["budget_bytes"]) if stop <= budget)


def near_shares(data: dict[str, Any], curve: dict[str, Any], i: int) -> dict[int, float]:
    """Return the objects' ids and the share of each that is near."""
    whole = {n: 1.0 for a, b in curve["near"][i] for n in curve["order"][a:b]}
    shares = whole | {int(n): share for n, share in curve["shares"][i].items()}
    return {data["objects"][n]["id"]: share for n, share in shares.items()}


def move_slider(page: Any, percent: float) -> None:
    page.evaluate(
        """(value) => { const slider = document.getElementById("budget"); slider.value = value;
           slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
        percent,
    )


def test_opens_without_errors_or_requests(made: Any, open_page: Callable[..., Any]) -> None:
    path, data = made
    opened = open_page(path)
    for select, values in (("memory", FARS), ("phase", [p["name"] for p in data["phases"]])):
        for value in values:
            opened.page.select_option(f"#{select}", value)
    assert opened.troubles == []
    assert opened.requests == [path.as_uri()]


def test_embedded_data_is_the_json(made: Any, kept: Any) -> None:
    assert json.loads(kept.text_content("#report-data")) == made[1]


@pytest.mark.parametrize(
    ("memory", "phase"), [(FARS[0], "get"), (FARS[1], "total"), (FARS[2], "get")]
)
def test_slider_shows_the_frontier(made: Any, kept: Any, memory: str, phase: str) -> None:
    data, page = made[1], kept
    page.select_option("#memory", memory)
    page.select_option("#phase", phase)
    curve = frontier(data, memory, phase)
    seen = set()
    for percent in (0, 1.5, 10, 33, 62.5, 100):
        move_slider(page, percent)
        budget = shown(page, "budget-text")
        assert budget == int(percent / 100 * curve["footprint_bytes"])
        i = at(curve, budget)
        assert shown(page, "time") == curve["time_ns"][i][0]
        assert shown(page, "slow") == shown(page, "now") == curve["slowdown"][i][0]
        assert shown(page, "cost") == curve["cost_relative"][i]
        assert shown(page, "near-bytes") == curve["near_bytes"][i]
        near = near_shares(data, curve, i)
        assert shown(page, "near-objects") == len(near)
        sizes = {row["id"]: row["size_bytes"] for row in data["objects"]}
        # A plan may give a part to the page that it ends in.
        assert sum(sizes[n] * share for n, share in near.items()) <= budget + 4096 * len(near)
        listed = page.eval_on_selector_all(
            "#near-list li[data-object]", "rows => rows.map((row) => Number(row.dataset.object))"
        )
        assert set(listed) <= near.keys()
        assert len(listed) == min(8, len(near))
        seen.add(shown(page, "slow"))
    assert len(seen) > 3


def test_slider_equals_nearfar_place(
    made: Any, profile: Any, open_page: Callable[..., Any], tmp_path: Path, capsys: Any
) -> None:
    from nearfar.__main__ import main

    run, near = tmp_path / "run.json", tmp_path / "near.json"
    save(profile, run)
    save(samples.device("near"), near)
    page = open_page(made[0]).page
    page.select_option("#memory", FARS[0])

    def place() -> dict[str, Any]:
        budget = f"{int(shown(page, 'budget-text'))}B"
        arguments = ["place", str(run), "--near", str(near), "--far", FARS[0]]
        assert main([*arguments, "--budget", budget, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    def same(plan: dict[str, Any]) -> None:
        assert shown(page, "time") == pytest.approx(plan["time_ns"]["value"], rel=1e-12)
        assert shown(page, "slow") == pytest.approx(plan["slowdown"]["value"], rel=1e-12)
        assert shown(page, "cost") == pytest.approx(plan["cost_relative"], rel=1e-12)
        assert shown(page, "near-bytes") == plan["near_bytes"]

    # Where the budget is exactly that of the frontier's first objects, the frontier's point.
    points = place()["frontier"]
    move_slider(page, 0)
    for step in range(5):
        same(points[step])
        page.click("#more")
    # At the headline's budgets, the exact plan, in parts where these save time.
    for percent in (10, 25, 50):
        move_slider(page, percent)
        ways = {way["name"]: way for way in place()["alternatives"]}
        same(ways.get("plan", ways["optimal"]))
    # Otherwise the greedy plan, which is never worse than the frontier's point.
    for percent in (2, 5):
        move_slider(page, percent)
        plan = place()
        greedy = next(way for way in plan["alternatives"] if way["name"] == "greedy")
        point = [p for p in points if p["near_bytes"] <= plan["budget_bytes"]][-1]
        same(min(greedy, point, key=lambda way: way["time_ns"]["value"]))


@pytest.mark.parametrize(("memory", "phase"), [(FARS[0], "total"), (FARS[1], "get")])
def test_moves_leave_what_a_page_opened_at_the_last_one_shows(
    made: Any, open_page: Callable[..., Any], tmp_path: Path, memory: str, phase: str
) -> None:
    moved = open_page(made[0]).page
    for percent in (70, 5):
        move_slider(moved, percent)
    moved.select_option("#memory", memory)
    moved.select_option("#phase", phase)
    sections = ("frontier", "alternatives", "treemap", "objects", "ranges", "slowdown")
    report_data = msgspec.json.decode(json.dumps(made[1]), type=ReportData)
    seen = set()
    for percent in (100, 0, 40, 12.5):
        move_slider(moved, percent)
        first = msgspec.structs.replace(
            report_data,
            first_memory=memory,
            first_phase=phase,
            first_budget_bytes=int(shown(moved, "budget-text")),
        )
        path = tmp_path / "first.html"
        path.write_text(render(first))
        opened = open_page(path).page
        for name in sections:
            drawn = opened.inner_html(f"#{name}")
            assert moved.inner_html(f"#{name}") == drawn, (name, percent)
            seen.add(drawn)
    assert len(seen) > len(sections)


def test_keyboard_moves_the_budget(kept: Any) -> None:
    page = kept
    page.select_option("#memory", FARS[0])
    page.select_option("#phase", "total")
    move_slider(page, 40)
    page.focus("#budget")
    before = shown(page, "budget-text")
    page.keyboard.press("ArrowRight")
    assert shown(page, "budget-text") > before
    page.keyboard.press("Home")
    assert shown(page, "budget-text") == 0
    assert shown(page, "near-objects") == 0
    page.focus("#more")
    page.keyboard.press("Enter")
    assert shown(page, "near-objects") == 1


def test_pressing_in_the_chart_sets_the_budget(made: Any, kept: Any) -> None:
    data, page = made[1], kept
    page.select_option("#memory", FARS[0])
    page.select_option("#phase", "total")
    move_slider(page, 10)
    picture = page.locator("#frontier .draw svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.mouse.click(box["x"] + 44 + 0.5 * (box["width"] - 52), box["y"] + box["height"] / 2)
    assert shown(page, "budget-text") / data["footprint_bytes"] == pytest.approx(0.5, abs=0.01)


def test_table_sorts_and_filters(made: Any, open_page: Callable[..., Any]) -> None:
    path, data = made
    page = open_page(path).page

    def rows() -> list[int]:
        return page.eval_on_selector_all(
            "#object-table tbody tr", "rows => rows.map((row) => Number(row.dataset.object))"
        )

    sizes = {each["id"]: each["size_bytes"] for each in data["objects"]}
    page.click("#object-table [data-key=size]")
    assert [sizes[n] for n in rows()] == sorted(sizes.values(), reverse=True)[:25]
    page.click("#object-table [data-key=size]")
    assert [sizes[n] for n in rows()] == sorted(sizes.values())[:25]
    page.click("#object-more")
    assert len(rows()) == 60
    page.fill("#object-filter", "make_7 ")
    assert rows() == [7]
    page.fill("#object-filter", "no such thing")
    assert rows() == []
    assert page.text_content("#object-count") == "no object matches"


def test_near_and_far_in_table_follow_the_slider(made: Any, kept: Any) -> None:
    data, page = made[1], kept
    page.select_option("#memory", data["first_memory"])
    page.select_option("#phase", "total")
    page.click("#object-more")
    for percent in (3, 40):
        move_slider(page, percent)
        curve = frontier(data, data["first_memory"], "total")
        i = at(curve, shown(page, "budget-text"))
        near = near_shares(data, curve, i).keys()
        chips = page.eval_on_selector_all(
            "#object-table tbody tr",
            "rows => rows.filter((row) => row.querySelector('.chip.near'))"
            ".map((row) => Number(row.dataset.object))",
        )
        assert set(chips) == near


def test_phase_changes_the_result_and_lines(made: Any, kept: Any) -> None:
    data, page = made[1], kept
    page.select_option("#memory", data["first_memory"])
    page.select_option("#phase", "total")
    sentences = {answer["phase"]: answer["sentence"] for answer in data["answers"]}
    assert page.locator("#answer h2:visible").all_text_contents() == [sentences["total"]]
    page.select_option("#phase", "get")
    assert page.locator("#answer h2:visible").all_text_contents() == [sentences["get"]]
    first = page.locator("#line-list li").first
    lines = {(row["file"], row["line"]) for row in data["lines"] if row["phase"] == "get"}
    assert (first.get_attribute("data-file"), int(first.get_attribute("data-line"))) in lines


def test_every_phase_and_the_largest_objects_are_explained(made: Any, kept: Any) -> None:
    data, page = made[1], kept
    page.select_option("#memory", FARS[0])
    page.select_option("#phase", "get")
    rows = [
        row
        for row in data["breakdowns"]
        if row["memory"] == FARS[0] and row["breakdown"]["phase"] == "get"
    ]
    cards = page.locator("#explain-list li")
    assert cards.count() == len(rows) == 6
    objects = [row for row in rows if row["object"] is not None]
    most = max(objects, key=lambda row: row["breakdown"]["added_ns"])
    assert cards.nth(0).get_attribute("data-object") is None
    assert cards.nth(1).get_attribute("data-object") == str(data["objects"][most["object"]]["id"])
    effect = most["breakdown"]["effects"][0]["input"]
    assert f"depends most on {effect}" in cards.nth(1).locator("p").text_content()


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_no_horizontal_scroll(made: Any, open_page: Callable[..., Any], width: int) -> None:
    page = open_page(made[0], width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_mode_is_dark(made: Any, open_page: Callable[..., Any], tmp_path: Path) -> None:
    lightness = """() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor
        .match(/\\d+/g).map(Number); return (r + g + b) / 3; }"""
    light = open_page(made[0]).page
    dark = open_page(made[0], color_scheme="dark").page
    assert light.evaluate(lightness) > 230
    assert dark.evaluate(lightness) < 40
    assert light.screenshot() != dark.screenshot()


def test_every_figure_has_a_caption(kept: Any) -> None:
    captions = kept.eval_on_selector_all(
        "figure", "all => all.map((f) => f.querySelector('figcaption')?.textContent.length ?? 0)"
    )
    assert len(captions) >= 7
    assert min(captions) > 80


def test_readable_without_script(made: Any, browser: Any) -> None:
    path, data = made
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert data["answers"][0]["sentence"] in page.text_content("#answer")
    assert "clang 16.0.6" in page.text_content("#method")
    context.close()
