"""An instrumented program in a run that only marks phases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from compiling import compiled

from nearfar.program.control import Control
from nearfar.program.launch import Job, run_job

pytestmark = pytest.mark.timing


def test_a_run_without_a_simulated_cache_is_not_traced(tmp_path: Path) -> None:
    program = compiled("growing.c", tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    control = Control.create(folder)
    job = Job(command=[str(program), "hash", "1000"], stdout_to_stderr=True)
    outcome = run_job(job, program, dict(os.environ), folder)
    assert outcome.status == "exited 0"
    assert len(control.phases()) > 2
    assert not list(folder.glob("process.*"))
    control.close()
