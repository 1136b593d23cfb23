"""States that differ in lines that a checker did not touch are told equal, and no others."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from crash.crash_programs import built, explore

_PR_SET_SYSCALL_USER_DISPATCH = 59
_TRACKS = ctypes.CDLL(None).prctl(_PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0
"""Whether system calls can be stopped here; without that nothing is tracked."""
_WAYS = ["load", "memcpy", "string", "unaligned", "pread", "stream", "pipe", "child", "thread"]
_WAYS += ["private", "protects", "moves", "reopens", "movq", "memory file", "kept"]


@pytest.mark.parametrize("way", _WAYS)
def test_what_a_checker_reads_is_judged_in_any_way_of_reading(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = built("crash_reads")
    calls = tmp_path / "calls"
    monkeypatch.setenv("CRASH_READS", way)
    monkeypatch.setenv("CRASH_CALLS", str(calls))
    right = explore(tmp_path, f"{program} {{pool}}", [str(program), "{pool}", "right"])
    assert right.complete
    assert not right.bugs
    if _TRACKS and way in {"load", "memcpy", "pread", "reopens"}:
        assert len(calls.read_bytes()) < right.states / 2
    (bug,) = explore(tmp_path, f"{program} {{pool}}", [str(program), "{pool}", "wrong"]).bugs
    assert bug.symptom == "exit 1"


def test_a_line_that_only_some_states_reach_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first number is read only where the second is odd.
    program = built("crash_reads", "-DON_DEMAND")
    monkeypatch.setenv("CRASH_READS", "load")
    monkeypatch.setenv("CRASH_CALLS", str(tmp_path / "calls"))
    (bug,) = explore(tmp_path, f"{program} {{pool}}", [str(program), "{pool}", "wrong"]).bugs
    assert bug.symptom == "exit 1"
