"""Programs that nothing here can observe, and that run longer than their share of the time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nearfar.base.errors import CommandError
from nearfar.options.profile import ProfileOptions
from nearfar.profile.unobserved import profile_unobserved


def options(tmp_path: Path, script: str) -> ProfileOptions:
    return ProfileOptions(
        command=["sh", "-c", script], output=tmp_path / "run.json", ends_s=time.monotonic() + 6.0
    )


def test_one_that_computes_is_stopped_and_answered(tmp_path: Path) -> None:
    said: list[str] = []
    profile, failed = profile_unobserved(
        options(tmp_path, "while :; do :; done"), "there is no QEMU", said.append, None
    )
    assert failed == ""
    assert profile.phases[0].near_cpu_time_ns.value > 0
    assert said == ["there is no QEMU: its time and memory alone are known"]


def test_one_that_waits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="longer --time"):
        profile_unobserved(options(tmp_path, "sleep 100"), "there is no QEMU", print, None)
    assert not (tmp_path / "run.json").exists()
