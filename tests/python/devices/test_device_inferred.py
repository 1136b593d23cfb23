"""Buffers, queues, interleaves, stalls, tails: written as TOML, read back equal, refused, shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferred import inferred_device

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.library import load_device
from nearfar.devices.toml_write import save_toml


def test_inferred_quantities_round_trip_through_toml(tmp_path: Path) -> None:
    device = inferred_device()
    save_toml(device, tmp_path / "d.toml")
    assert load_device(str(tmp_path / "d.toml")) == device


def test_inferred_quantities_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    save_toml(inferred_device(), tmp_path / "d.toml")
    assert main(["device", "show", str(tmp_path / "d.toml")]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    for part in (
        "16.0 KiB (14.0 KiB to 20.0 KiB)",
        "confidence 97%",
        "write queue",
        "interleaved over 6 devices",
        "writes to a block",
        "not seen: replacement of the second buffer (too few sets fit)",
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ("capacity_low_bytes = 14336", "capacity_low_bytes = 99999", "is above 'capacity_high_by"),
        ("confidence = 0.97", "confidence = 97", "'confidence' must be between 0 and 1"),
        ("devices = 6", "devices = 0", "'devices' must be a positive number"),
        ("p90_ns = 114.0", "p90_ns = 1.0", "tail 1: percentiles must be finite and rise"),
        ("granularity_bytes = 4096", "granularity = 4096", "did you mean 'granularity_bytes'"),
        ('replacement = "other"', 'replacement = "plru"', "Invalid enum value 'plru'"),
        ("low = 9500", "low = 19500", "'low' (19500) is above 'high'"),
    ],
)
def test_impossible_quantities_are_refused_with_their_line(
    tmp_path: Path, old: str, new: str, refusal: str
) -> None:
    path = tmp_path / "d.toml"
    save_toml(inferred_device(), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(NearfarError, match=r"d\.toml:\d+: ") as refused:
        load_device(str(path))
    assert refusal in str(refused.value)
