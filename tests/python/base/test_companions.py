"""Verbs of companions, installed or not."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands import _companion_verbs
from nearfar.companions import KNOWN, VERBS


def test_parts_of_verbs_are_not_verbs() -> None:
    listed = _companion_verbs.companion_verbs()
    assert {"bench", "counters", "reproduce"} <= set(listed)
    assert not [name for name in listed if " " in name]


@pytest.mark.parametrize("name", ["counters", "device import"])
def test_a_missing_companion_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_companion_verbs, "installed", lambda group: {})
    refuse = _companion_verbs.load_verb(name)
    assert refuse.__doc__ == f"(install nearfar[imports]) {KNOWN[name].summary}"
    with pytest.raises(CommandError, match=r"install nearfar\[imports\]") as caught:
        refuse("file.csv", "--json")
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS


def test_a_broken_companion_leaves_other_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metadata are there, its package is not: `device list` works, `device import` says why."""
    gone = EntryPoint("device import", "nearfar_gone.verb:run", VERBS)
    monkeypatch.setattr(_companion_verbs, "installed", lambda group: {"device import": gone})
    refuse = _companion_verbs.load_verb("device import")
    with pytest.raises(CommandError, match="install its companion again") as caught:
        refuse("file.csv")
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS
