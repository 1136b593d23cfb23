"""Runs that must end in time, and folders that must hold their tables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearfar.base import folders
from nearfar.profile.session import (
    FULL_PROCESSES,
    OTHER_FILES_BYTES,
    ProfileRequest,
    prepare_folder,
)
from nearfar.program import launch
from nearfar.program.launch import GRACE_S, GRACE_SHARE, Job, run_job


def test_a_program_that_ignores_sigterm_is_killed_after_a_share_of_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graces: list[float] = []
    stop = launch._stop

    def noted_stop(pid: int, grace_s: float) -> None:
        graces.append(grace_s)
        stop(pid, grace_s)

    monkeypatch.setattr(launch, "_stop", noted_stop)
    prepare_folder(tmp_path, 1 << 20, 16, 1 << 20, counting=True).close()
    job = Job(command=("sh", "-c", "trap '' TERM; while :; do sleep 0.01; done"))
    assert job.grace_s == GRACE_S
    bounded = job.ending_after(1.0, "its time")
    outcome = run_job(bounded, Path("/bin/sh"), os.environ, tmp_path)
    assert (bounded.grace_s, job.ending_after(1e6, "").grace_s) == (GRACE_SHARE, GRACE_S)
    assert outcome.status == "was killed by SIGKILL (by nearfar after its time)"
    assert graces == [bounded.grace_s]


@pytest.mark.parametrize(("missing_bytes", "fits"), [(0, True), (1, False)])
def test_tables_that_do_not_fit_in_memory_go_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing_bytes: int, fits: bool
) -> None:
    request = ProfileRequest(Job(("true",)), 1, 1 << 20, 16, "", memory_bytes=1 << 20)
    # A forked child has a file of its own.
    free = FULL_PROCESSES * request.memory_bytes + OTHER_FILES_BYTES - missing_bytes
    monkeypatch.setattr(folders, "MEMORY", tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", {tmp_path: SimpleNamespace(free=free)}.__getitem__)
    assert request.folder() == (str(tmp_path) if fits else None)


def test_tables_go_to_the_disk_where_there_is_no_folder_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MEMORY", tmp_path / "none")
    assert folders.memory_folder() is None
