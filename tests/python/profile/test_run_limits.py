"""Runs that must end in time, and folders that must hold their tables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from nearfar.profile.session import ProfileRequest, prepare_folder
from nearfar.program.launch import GRACE_S, GRACE_SHARE, Job, run_job


def test_a_program_that_ignores_sigterm_is_killed_after_a_share_of_its_time(tmp_path: Path) -> None:
    prepare_folder(tmp_path, 1 << 20, 16, 1 << 20, counting=True).close()
    job = Job(command=("sh", "-c", "trap '' TERM; while :; do sleep 0.01; done"))
    assert job.grace_s == GRACE_S
    bounded = job.ending_after(1.0, "its time")
    outcome = run_job(bounded, Path("/bin/sh"), os.environ, tmp_path)
    assert (bounded.grace_s, job.ending_after(1e6, "").grace_s) == (GRACE_SHARE, GRACE_S)
    assert outcome.status == "was killed by SIGKILL (by nearfar after its time)"
    assert outcome.wall_ns < GRACE_S * 1e9, "it had the time of a server"


def test_tables_that_do_not_fit_in_memory_go_to_the_disk() -> None:
    shared = Path("/dev/shm")
    request = ProfileRequest(Job(("true",)), 1, 1 << 20, 16, "", memory_bytes=1 << 20)
    assert request.folder() == (str(shared) if os.access(shared, os.W_OK) else None)
    beyond = ProfileRequest(
        Job(("true",)), 1, 1 << 20, 16, "", memory_bytes=shutil.disk_usage(shared).total
    )
    assert beyond.folder() is None
