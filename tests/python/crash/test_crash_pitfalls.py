"""Each pitfall is found, its fix is clean, and the replay of each bug fails again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nearfar.__main__ import main

_FILE = Path(__file__).parents[3] / "examples" / "pitfalls" / "pitfalls.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pitfalls", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by name.
    sys.modules["pitfalls"] = module
    spec.loader.exec_module(module)
    return module


pitfalls = _load()
_ALL = pitfalls.pitfalls()
_QUICK = {
    "log_never_fenced",
    "log_short_flush",
    "log_flush_unmodified",
    "table_not_durable",
    "pair_one_store",
    "threads_fence_of_another",
    "list_leak",
    "list_volatile_pointer",
    "move_one_snapshot",
    "config_no_sync",
    "wal_no_checksum",
    "mapped_one_msync",
}
"""One of each kind; the rest are marked long only because they are many."""
_SECONDS = 200.0
"""Generous, for busy machines."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the programs once."""
    return tmp_path_factory.mktemp("pitfalls")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(pitfall.name, marks=[] if pitfall.name in _QUICK else [pytest.mark.long])
        for pitfall in _ALL
    ],
)
def test_each_pitfall_is_found(name: str, folder: Path) -> None:
    (pitfall,) = (pitfall for pitfall in _ALL if pitfall.name == name)
    try:
        answer = pitfalls.explore(pitfall, folder, seconds=_SECONDS)
    except pitfalls.AbsentError as error:
        pytest.skip(str(error))
    assert set(pitfall.expect) <= set(answer.kinds())
    for replay in answer.replays:
        assert main(["crash", "replay", replay, "--quiet"]) == 1


@pytest.mark.parametrize(
    "fix",
    [
        pytest.param(fix, marks=[] if fix in ("move_right", "config_right") else [pytest.mark.long])
        for fix in sorted({pitfall.fix for pitfall in _ALL})
    ],
)
def test_a_fix_has_no_findings(fix: str, folder: Path) -> None:
    for pitfall in _ALL:
        if pitfall.fix != fix:
            continue
        try:
            answer = pitfalls.explore(pitfall, folder, fixed=True, seconds=_SECONDS)
        except pitfalls.AbsentError as error:
            pytest.skip(str(error))
        assert answer.kinds() == []


def test_the_guide_shows_each_pitfall() -> None:
    guide = (_FILE.parents[2] / "docs" / "pitfalls.md").read_text()
    for pitfall in _ALL:
        assert f"## {pitfall.name}\n" in guide
        code = (_FILE.parent / f"{pitfall.name}.c").read_text().partition("*/\n")[2].strip()
        assert code in guide, f"run {_FILE.name} --docs: {pitfall.name}.c has changed"
