"""The characterisation: held-out plateaus, amplification, and file systems of this machine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nearfar.devices.library import load_device
from nearfar_studies import file_systems
from nearfar_studies.file_systems import ANONYMOUS, FilePlace, find_places
from nearfar_studies.studies import optane_characterisation as study


def test_a_plateau_is_predicted_without_its_own_data(monkeypatch: pytest.MonkeyPatch) -> None:
    before = study._plateaus().rows
    device = load_device(study.ONE)
    wrong = [
        msgspec.structs.replace(f, value_ns=2 * f.value_ns)
        if f.operation == "read" and f.region_bytes == 1 << 30
        else f
        for f in device.latency
    ]
    changed = msgspec.structs.replace(device, latency=wrong)
    monkeypatch.setattr(study, "load_device", lambda name: changed)
    after = study._plateaus().rows
    assert after[0].what == before[0].what == "1.00 GiB"
    assert after[0].ours == before[0].ours
    assert after[0].published == pytest.approx(2 * (before[0].published or 0.0))
    assert after[1].ours != before[1].ours  # the others were fitted to it


def test_held_out_plateaus_beat_the_next_region() -> None:
    result = study._plateaus()
    assert result.errors["ours"].mean < 0.05
    assert result.errors["ours"].mean < result.errors[study.NEXT].mean / 2


def test_amplification_is_the_block_over_the_access() -> None:
    result = study._amplification()
    assert [row.ours for row in result.rows] == pytest.approx(
        [256 / 64] * len(result.rows), rel=0.01
    )
    assert result.errors["ours"].mean < 0.1


MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs {0}/shm tmpfs rw 0 0
/dev/pmem0 {0}/with\\040blank xfs rw,dax=always 0 0
/dev/pmem1 {0}/nodax ext4 rw,dax=never 0 0
proc /proc proc rw 0 0
broken line
"""


def test_places_are_found_by_their_mount(tmp_path: Path) -> None:
    for name in ("shm", "with blank", "nodax", "other"):
        (tmp_path / name).mkdir()
    mounts = MOUNTS.format(tmp_path)
    result = find_places(mounts, [tmp_path / "shm", tmp_path / "other"])
    assert result == {
        ANONYMOUS: FilePlace(ANONYMOUS, None),
        "tmpfs": FilePlace("tmpfs", tmp_path / "shm"),
        "ext4": FilePlace("ext4", tmp_path / "other"),
        "xfs-dax": FilePlace("xfs-dax", tmp_path / "with blank"),
    }


def test_folders_without_write_permission_are_not_used(tmp_path: Path) -> None:
    absent = find_places("/dev/pmem0 /mnt/absent xfs rw,dax 0 0", [], [tmp_path / "dax0.0"])
    assert set(absent) == {ANONYMOUS}


def test_costs_are_measured_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_systems, "_chase_ns", lambda spec: None)  # its own tests: measure
    result = file_systems.measure(FilePlace("ext4", tmp_path))
    assert result.touch_ns > result.again_ns > 0  # a page fault costs more than a store
    assert 0 <= result.kernel_share <= 1
    assert result.persist_ns is not None
    assert result.persist_ns > 0
    assert list(tmp_path.iterdir()) == []
    plain = file_systems.measure(FilePlace(ANONYMOUS, None))
    assert plain.persist_ns is None
    assert plain.touch_ns > plain.again_ns


def test_missing_kinds_are_reported(tmp_path: Path) -> None:
    cost = file_systems.FileSystemCost(FilePlace(ANONYMOUS, None), 500.0, 0.9, 2.0, None, 90.0)
    result = study._file_systems({ANONYMOUS: cost})
    absent = [row.what for row in result.rows if row.note == "not here"]
    assert absent == [kind for kind in file_systems.KINDS if kind != ANONYMOUS]
    assert any("xfs-dax" in sentence for sentence in study._file_system_verdict({ANONYMOUS: cost}))
