"""The stubs of the native modules equal the output of scripts/stubs.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_stubs_are_up_to_date(tmp_path: Path) -> None:
    script = REPOSITORY / "scripts" / "stubs.py"
    spec = importlib.util.spec_from_file_location("stubs", script)
    assert spec is not None and spec.loader is not None
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    stubs.write_stubs(tmp_path)
    for name in stubs.MODULES:
        committed = (REPOSITORY / "nearfar" / f"{name}.pyi").read_text()
        assert (tmp_path / f"{name}.pyi").read_text() == committed, f"run {script}"
