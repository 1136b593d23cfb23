"""The busiest process below a program is known by its command."""

from __future__ import annotations

import subprocess
import time

from patience import patience

from nearfar.program.children import ChildrenWatch


def test_the_command_of_a_grandchild_is_named() -> None:
    script = "sh -c 'while :; do :; done' busy & sleep 1000 & wait"
    program = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    watch = ChildrenWatch(program.pid, list)
    try:
        until_s = time.monotonic() + patience(60)
        with watch.running():
            while "busy" not in watch.busiest():
                assert time.monotonic() < until_s, watch.busiest()
                time.sleep(0.01)
        assert watch.busiest() == "sh -c 'while :; do :; done' busy"
    finally:
        subprocess.run(["kill", "-9", "--", f"-{program.pid}"], check=True)
        program.wait()


def test_a_program_without_children_has_no_busiest_one() -> None:
    program = subprocess.Popen(["sleep", "1000"])
    watch = ChildrenWatch(program.pid, list)
    with watch.running():
        time.sleep(0.2)
    program.kill()
    program.wait()
    assert watch.busiest() == ""
