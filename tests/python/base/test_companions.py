"""Verbs of companions, installed or not."""

from __future__ import annotations

import pytest

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands import _companion_verbs
from nearfar.companions import KNOWN


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
