"""Copies of a process that has imported nearfar behave as new interpreters do."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import forked
import pytest

from nearfar.base.errors import ExitCode

sys.path.insert(0, str(Path(__file__).parent))
from first_answers import left_running, needs_qemu


def test_what_is_imported_beforehand_exists() -> None:
    for name in forked.PRELOADED:
        importlib.import_module(name)


def test_each_run_has_its_own_folder_environment_and_exit_code(tmp_path: Path) -> None:
    done = forked.nearfar("profile", "--", "missing", cwd=tmp_path, env={"PATH": "/nowhere"})
    assert done.returncode == ExitCode.WRONG_USE, done.stderr
    assert "missing" in done.stderr
    assert forked.nearfar("--version").returncode == ExitCode.DONE


@needs_qemu
def test_a_run_that_takes_too_long_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forked.nearfar(
            "profile", "--source", "qemu", "--", "sleep", "1000", cwd=tmp_path, timeout=3
        )
    assert not left_running(tmp_path)
