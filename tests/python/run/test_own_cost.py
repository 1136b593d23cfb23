"""Cost of `nearfar run` itself: measured, kept, and stated by a plan beside what that saves."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from nearfar.documents import WorkloadProfile, load, save
from nearfar.documents.plan import Part, RunCost
from nearfar.place.table import print_plan
from nearfar.run import own_cost
from nearfar.run.own_cost import OwnCost, run_cost

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan

INPUTS = Path(__file__).parents[2] / "golden/inputs"
REDIS = str(INPUTS / "redis.json")
COST = OwnCost(start_ns=1e6, near_block_ns=-1.0, far_block_ns=5.0)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "nearfar/run"


def test_the_cost_is_measured_once_and_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Both kinds of blocks are recognised, or it raises.
    cost = own_cost.own_cost()
    assert cost.start_ns > 0
    (file,) = kept.iterdir()
    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: pytest.fail("measured again"))
    assert own_cost.own_cost() == cost
    file.write_text("{}")
    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: COST)
    assert own_cost.own_cost() == COST
    # Another library is measured again.
    file.rename(file.with_stem("earlier"))
    assert own_cost.own_cost() == COST
    assert [each.stem for each in kept.iterdir()] == [file.stem]


def test_a_plan_multiplies_it_by_the_profiles_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_cost, "own_cost", lambda: COST)
    profile = load(INPUTS / "redis.json", WorkloadProfile)
    heap = [row for row in profile.objects if row.kind == "heap"]
    blocks = {row.id: row.allocations for row in heap}
    far, split = sorted(blocks, key=lambda number: -blocks[number])[:2]
    made = plan(
        [
            placement(number, "near", "far" if number == far else "near")
            for number in blocks if number != split
        ]
        + [placement(split, "split", "near", parts=[Part(memory="near", share=0.5),
                                                    Part(memory="far", share=0.5)])]
    )  # fmt: skip
    cost = run_cost(made, profile, 1, saved_ns=3e9)
    assert cost is not None
    assert cost.far_blocks == blocks[far] + blocks[split] > 0
    assert cost.near_blocks == sum(blocks.values()) - cost.far_blocks > 0
    assert cost.total_ns == 1e6 - cost.near_blocks + 5 * cost.far_blocks
    assert run_cost(plan([placement(far, "near", "near")]), profile, 1, saved_ns=3e9) is None


def test_a_library_that_cannot_run_leaves_the_cost_out(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cost, "PROGRAM", own_cost.LIBRARY)  # no program
    made = plan([placement(0, "a", "far")])
    profile = load(INPUTS / "redis.json", WorkloadProfile)
    assert run_cost(made, profile, 1, saved_ns=1.0) is None
    monkeypatch.undo()
    monkeypatch.setattr(own_cost, "native_file", lambda _: Path("/bin/false"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    assert run_cost(made, profile, 1, saved_ns=1.0) is None


@pytest.mark.parametrize(
    ("total_ns", "saved_ns", "says"),
    [
        (2e6, 5e6, "adds 2 ms of CPU time"),
        (2e6, 5e6, "the plan saves 5 ms of all-far's time"),
        (9e6, 5e6, "more than the 5 ms of all-far's time that the plan saves"),
        (2e6, -5e6, "the plan takes 5 ms more than all-far"),
        (2e6, -1e-7, "the plan saves nothing of all-far's time"),
        (-2e6, 5e6, "saves 2 ms of CPU time"),
    ],
)
def test_the_table_states_it(total_ns: float, saved_ns: float, says: str) -> None:
    cost = RunCost(
        start_ns=1e6, near_block_ns=-1.0, far_block_ns=5.0, near_blocks=1000, far_blocks=10,
        total_ns=total_ns, saved_ns=saved_ns,
    )  # fmt: skip
    made = msgspec.structs.replace(plan([placement(0, "a", "far")]), run_cost=cost)
    console = Console(width=500, record=True, file=io.StringIO())
    print_plan(made, console)
    assert says in console.export_text()


def placed_by(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    from nearfar.__main__ import main

    options = ["--near", str(INPUTS / "near.json"), "--far", "optane-100-6dimm", "--budget", "25%"]
    assert main(["place", *words, *options, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    return dict(made)


def test_place_states_it(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: COST)
    made = placed_by([REDIS], capsys)
    times = {bar["name"]: bar["time_ns"]["value"] for bar in made["alternatives"]}
    saved = times["all-far"] - times.get("plan", times["optimal"])
    assert made["run_cost"]["saved_ns"] == pytest.approx(saved)
    assert made["run_cost"]["far_block_ns"] == COST.far_block_ns
    # A plan of another order of objects saves what that saves, though another bar is quicker.
    made = placed_by([REDIS, "--optimiser", "hot-first", "--allow", "whole"], capsys)
    times = {bar["name"]: bar["time_ns"]["value"] for bar in made["alternatives"]}
    assert times["hot-first"] > times["optimal"]
    saved = times["all-far"] - times["hot-first"]
    assert made["run_cost"]["saved_ns"] == pytest.approx(saved)


def test_the_cost_of_all_blocks_is_not_compared_with_the_saving_of_a_phase(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: COST)
    assert placed_by([REDIS, "--phase", "get"], capsys)["run_cost"] is None


def test_several_profiles_cost_what_their_mean_process_does(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: COST)
    profile, other = load(Path(REDIS), WorkloadProfile), tmp_path / "other.json"
    save(in_reverse_order(profile), other)
    made = placed_by([REDIS, str(other)], capsys)
    blocks = {row.name: row.allocations for row in profile.objects if row.kind == "heap"}
    far = [
        row["name"]
        for row in made["placements"]
        if row["kind"] == "heap"
        and "far" in [row["memory"], *(part["memory"] for part in row["parts"])]
    ]
    assert 0 < len(far) < len(blocks)
    cost = made["run_cost"]
    assert cost["far_blocks"] == sum(blocks[name] for name in far)
    assert cost["near_blocks"] + cost["far_blocks"] == sum(blocks.values())
    times = {bar["name"]: bar["time_ns"]["value"] for bar in made["alternatives"]}
    saved = times["all-far"] - times.get("plan", times["optimal"])
    assert cost["saved_ns"] == pytest.approx(saved / 2)


def in_reverse_order(profile: WorkloadProfile) -> WorkloadProfile:
    """Return the profile with its objects' numbers and rows in reverse order."""
    last, replace = len(profile.objects) - 1, msgspec.structs.replace
    return replace(
        profile,
        live=[],
        objects=[replace(row, id=last - row.id) for row in reversed(profile.objects)],
        phases=[
            replace(
                phase,
                objects=[replace(row, object=last - row.object) for row in phase.objects[::-1]],
            )
            for phase in profile.phases
        ],
    )
