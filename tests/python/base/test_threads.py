"""Work beside a block, and the end of a group of processes."""

from __future__ import annotations

import subprocess
import threading

import pytest
from patience import patience

from nearfar.base.terminate import kill_group
from nearfar.base.threads import working_beside


def test_work_runs_while_the_block_runs() -> None:
    began, returned = threading.Event(), threading.Event()

    def work(ended: threading.Event) -> None:
        began.set()
        ended.wait()
        returned.set()

    with working_beside(work):
        assert began.wait(patience(10))
        assert not returned.is_set()
    assert returned.is_set()


def test_work_ends_with_a_block_that_fails() -> None:
    returned = threading.Event()

    def work(ended: threading.Event) -> None:
        ended.wait()
        returned.set()

    with pytest.raises(ZeroDivisionError), working_beside(work):
        raise ZeroDivisionError
    assert returned.is_set()


def test_a_group_is_killed_once_and_may_have_ended() -> None:
    process = subprocess.Popen(["sh", "-c", "sleep 1000"], start_new_session=True)
    kill_group(process.pid)
    assert process.wait(patience(10)) == -9
    kill_group(process.pid)
