"""Folders that a terminated or killed run leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import patience

from nearfar.base.errors import NearfarError
from nearfar.base.folders import OWNER, clear_dead, owned_folder
from nearfar_bench.native import kinds


def test_only_folders_of_dead_owners_are_removed(tmp_path: Path) -> None:
    for name in ("a-dead", "b-dead"):
        (tmp_path / name).mkdir()
        (tmp_path / name / OWNER).touch()
    (tmp_path / "a-nobody-knows").mkdir()
    with owned_folder("a-", str(tmp_path)) as mine:
        clear_dead("a", tmp_path)
        assert (mine / OWNER).exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [mine.name, "a-nobody-knows", "b-dead"]
        )
    assert not mine.exists()


def test_sigterm_ends_it_like_ctrl_c(tmp_path: Path) -> None:
    try:
        if kinds()["log"].needs:
            pytest.skip("built without libpmem")
    except NearfarError as error:
        pytest.skip(str(error))
    words = ["bench", "log", "--set", f"memory=file:{tmp_path}", "--set", "seconds=100"]
    process = subprocess.Popen(
        [sys.executable, "-m", "nearfar", *words, "-o", str(tmp_path / "out.json")],
        stderr=subprocess.PIPE,
        text=True,
    )
    until_s = time.monotonic() + patience(60)
    while not list(tmp_path.glob("nearfar-bench-*/pool")):
        assert process.poll() is None
        assert time.monotonic() < until_s
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    message = process.communicate(timeout=patience(60))[1]
    assert process.returncode == 130
    assert message.count("\n") == 1
    assert "interrupted" in message
    assert list(tmp_path.iterdir()) == []
