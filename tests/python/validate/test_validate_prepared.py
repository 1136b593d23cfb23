"""Files that another process prepared are used if they equal what would be made now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import samples
import window_bursts

from nearfar.contention.program_memory import ProgramMemory
from nearfar.documents import WorkloadProfile
from nearfar.memories.spec import parse_spec
from nearfar.profile.sources import qemu_user
from nearfar.validate.prepared import Prepared, load_prepared, save_record
from nearfar.validate.session_plan import QUICK, SessionPlan

MEMORY = ProgramMemory(parse_spec("dram"), None)
PLAN = SessionPlan(MEMORY, MEMORY, kernels=(), programs=(), region_bytes=1 << 20, effort=QUICK)


def prepared(folder: Path, *, bursts: bool) -> None:
    profile: WorkloadProfile = samples.workload()
    if bursts:
        recorded = window_bursts.phase(1.0, dependent=True).bursts
        assert recorded is not None
        profile = msgspec.structs.replace(profile, bursts=recorded.bursts)
    save_record(Prepared(folder, profiles={"gather": profile}, llc_bytes=3 << 20), PLAN)


@pytest.mark.parametrize(
    ("bursts", "installed", "taken"),
    [(True, True, True), (False, True, False), (False, False, True), (True, False, True)],
)
def test_profiles_without_bursts_are_made_anew_where_there_is_qemu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bursts: bool, installed: bool, taken: bool
) -> None:
    monkeypatch.setattr(qemu_user, "installed", lambda: installed)
    prepared(tmp_path, bursts=bursts)
    loaded = load_prepared(tmp_path, PLAN)
    assert (loaded is not None) == taken
    if loaded is not None:
        assert loaded.llc_bytes == 3 << 20


def test_a_folder_of_an_older_nearfar_is_not_used(tmp_path: Path) -> None:
    prepared(tmp_path, bursts=True)
    file = tmp_path / "prepared.json"
    without = msgspec.json.decode(file.read_bytes())
    del without["bursts"]
    file.write_bytes(msgspec.json.encode(without))
    assert load_prepared(tmp_path, PLAN) is None
