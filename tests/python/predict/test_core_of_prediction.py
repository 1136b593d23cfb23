"""The core of a prediction: named, measured, of another machine, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import api
from nearfar.base.errors import NearfarError
from nearfar.documents import save
from nearfar.documents.core import CoreFigure, CoreFigures
from nearfar.machine.read import read_machine

INPUTS = Path(__file__).parents[2] / "golden" / "inputs"
GIVEN = {"profile": INPUTS / "bursts.json", "near": str(INPUTS / "near.json")}
FAR = ["optane-100-6dimm"]


def caveats(**options: object) -> list[str]:
    given = {**GIVEN, "far": FAR, "model": "window", **options}
    return api.predict(**given).devices[0].caveats


def test_an_unknown_core_is_a_caveat_and_a_named_core_is_not() -> None:
    unknown = [caveat for caveat in caveats() if "the core behind dram" in caveat]
    assert len(unknown) == 1 and "128 to 512 instructions" in unknown[0]
    assert not [caveat for caveat in caveats(core="zen-4") if "the core behind" in caveat]


def test_the_core_changes_the_simulated_window() -> None:
    small, large = (
        api.predict(**GIVEN, far=FAR, model="window", core=name).devices[0].phases[0].slowdown
        for name in ("knights-landing", "sapphire-rapids")
    )
    assert small.value != large.value


def test_another_machines_profile_is_reported_and_not_used(tmp_path: Path) -> None:
    machine = read_machine()
    machine.cpu_model = "a processor of another machine"
    machine.core = CoreFigures(
        name="there", reorder_window=CoreFigure(value=16, low=15, high=17, how="measured")
    )
    save(machine, tmp_path / "machine.json")
    sentences = [
        caveat
        for caveat in caveats(machine=tmp_path / "machine.json")
        if "another machine's and is not used" in caveat
    ]
    assert len(sentences) == 1 and "a processor of another machine" in sentences[0]
    plan = api.place(
        profile=[GIVEN["profile"]], near=GIVEN["near"], far=FAR, budget="50%",
        machine=tmp_path / "machine.json",
    )  # fmt: skip
    assert [caveat for caveat in plan.caveats if "another machine's and is not used" in caveat]


def test_a_core_file_with_a_window_of_0_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    path.write_text('name = "mine"\nreorder_window = 0\n')
    with pytest.raises(NearfarError, match=r"core\.toml:2: reorder_window is 0: a core has 2 to"):
        api.predict(**GIVEN, far=FAR, core=str(path))
