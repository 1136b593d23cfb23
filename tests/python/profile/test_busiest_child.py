"""The busiest process below a program is known by its command."""

from __future__ import annotations

import subprocess
import sys
import time

from patience import patience

from nearfar.program.children import ChildrenWatch, busiest_command, is_own_child


def test_the_command_of_a_grandchild_is_named() -> None:
    expected = "sh -c 'while :; do :; done' busy"
    script = "sh -c 'while :; do :; done' busy & sleep 1000 & wait"
    program = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    watch = ChildrenWatch(program.pid, list)
    try:
        until_s = time.monotonic() + patience(60)
        with watch.running():
            while watch.busiest() != expected:
                assert time.monotonic() < until_s, watch.busiest()
                time.sleep(0.01)
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


def test_processes_of_the_same_command_count_together() -> None:
    commands = {1: "./forks", 2: "sort", 3: "./forks"}
    assert busiest_command({1: 3, 2: 5, 3: 3}, commands) == "./forks"
    assert busiest_command({1: 2, 2: 5, 3: 2}, commands) == "sort"
    assert busiest_command({}, {}) == ""


def test_a_child_that_runs_the_same_program_is_no_advice() -> None:
    assert is_own_child("./forks 3", ["./forks", "3"])
    assert is_own_child("/bin/sleep 1", ["sleep", "2"])
    assert not is_own_child("sort -n", ["sleep", "2"])
    assert not is_own_child("sh -c 'cut with...", ["sleep", "2"])
    assert not is_own_child("", ["sleep", "2"])
    # An interpreter runs another program.
    python = sys.executable
    assert is_own_child(f"{python} a.py", [python, "a.py"])
    assert not is_own_child(f"{python} b.py", [python, "a.py"])
