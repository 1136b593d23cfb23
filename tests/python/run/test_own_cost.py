"""Cost of `nearfar run` itself: measured, kept, and stated by a plan beside what that saves."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from nearfar.documents import WorkloadProfile, load
from nearfar.documents.plan import Part, RunCost
from nearfar.place.table import print_plan
from nearfar.run import own_cost
from nearfar.run.own_cost import OwnCost, run_cost

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan

INPUTS = Path(__file__).parents[2] / "golden/inputs"
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
    cost = run_cost(made, [profile, profile], saved_ns=3e9)
    assert cost is not None
    assert cost.far_blocks == blocks[far] + blocks[split] > 0
    assert cost.near_blocks == sum(blocks.values()) - cost.far_blocks > 0
    assert cost.total_ns == 1e6 - cost.near_blocks + 5 * cost.far_blocks
    assert run_cost(plan([placement(far, "near", "near")]), [profile], saved_ns=3e9) is None


def test_a_library_that_cannot_run_leaves_the_cost_out(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cost, "PROGRAM", own_cost.LIBRARY)  # no program
    made = plan([placement(0, "a", "far")])
    profile = load(INPUTS / "redis.json", WorkloadProfile)
    assert run_cost(made, [profile], saved_ns=1.0) is None
    monkeypatch.undo()
    monkeypatch.setattr(own_cost, "native_file", lambda _: Path("/bin/false"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    assert run_cost(made, [profile], saved_ns=1.0) is None


@pytest.mark.parametrize(
    ("total_ns", "says"),
    [
        (2e6, "adds 2 ms of CPU time"),
        (2e6, "the plan saves 5 ms of all-far's time"),
        (9e6, "which is more than the plan saves 5 ms"),
        (-2e6, "saves 2 ms of CPU time"),
    ],
)
def test_the_table_states_it(total_ns: float, says: str) -> None:
    cost = RunCost(
        start_ns=1e6, near_block_ns=-1.0, far_block_ns=5.0, near_blocks=1000, far_blocks=10,
        total_ns=total_ns, saved_ns=5e6,
    )  # fmt: skip
    made = msgspec.structs.replace(plan([placement(0, "a", "far")]), run_cost=cost)
    console = Console(width=500, record=True, file=io.StringIO())
    print_plan(made, console)
    assert says in console.export_text()


def test_place_states_it(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfar.__main__ import main

    monkeypatch.setattr(own_cost, "measure_own_cost", lambda: COST)
    words = ["--near", str(INPUTS / "near.json"), "--far", "optane-100-6dimm", "--budget", "25%"]
    assert main(["place", str(INPUTS / "redis.json"), *words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    times = {bar["name"]: bar["time_ns"]["value"] for bar in made["alternatives"]}
    saved = times["all-far"] - times.get("plan", times["optimal"])
    assert made["run_cost"]["saved_ns"] == pytest.approx(saved)
    assert made["run_cost"]["far_block_ns"] == COST.far_block_ns
