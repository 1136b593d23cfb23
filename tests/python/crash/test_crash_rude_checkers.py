"""Checkers that misbehave: a change that one makes to an image is invisible to the next."""

from __future__ import annotations

from pathlib import Path

import pytest
from crash.crash_programs import built, compiled, explore
from patience import patience

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport

GENEROUS = f"{patience(100):.0f}s"
"""A slow checker on a busy machine must not count as a hang."""
_WAYS = ["changes", "writes", "truncates", "removes", "reopens", "chatters", "leaves-open"]
_WAYS += ["replaces", "moves"]
_FLAGS = {
    "program": [],
    "function": ["-DFUNCTION"],
    "library": ["-DFUNCTION", "-shared", "-fPIC"],
}
"""crash_rude.c as a program, as a program with a function, or as a library."""


def report_of(kind: str, way: str, folder: Path, *options: str) -> CrashReport:
    checker = built("crash_rude", *_FLAGS[kind])
    check = str(checker) if kind == "library" else f"{checker} {{pool}}"
    return explore(folder, check, [str(built("crash_odd")), "{pool}", way], *options)


@pytest.mark.parametrize("kind", ["program", "function", "library"])
def test_changes_of_a_checker_are_undone_before_the_next(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in _WAYS:
        monkeypatch.setenv("CRASH_RUDE", way)
        report = report_of(kind, "writes", tmp_path, "--timeout", GENEROUS)
        assert not report.bugs, way
        assert report.complete
        report = report_of(kind, "writes-without-fsync", tmp_path, "--timeout", GENEROUS)
        assert [bug.symptom for bug in report.bugs] == ["exit 1"], way


@pytest.mark.parametrize("kind", ["program", "function"])
def test_the_symptom_names_how_a_checker_fails(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {"crashes": "SIGSEGV"}
    if kind == "function":
        ways |= {"hangs": "hang", "exits": "exit 255"}
    for way, symptom in ways.items():
        monkeypatch.setenv("CRASH_RUDE", way)
        timeout = ("--timeout", "1s" if way == "hangs" else GENEROUS, "--states", "4")
        report = report_of(kind, "writes-without-fsync", tmp_path, *timeout)
        assert [bug.symptom for bug in report.bugs] == [symptom]
        if way == "crashes":
            assert main(["crash", "replay", report.bugs[0].replay, "-q"]) == 1


@pytest.mark.long
def test_after_the_first_hang_the_others_are_waited_for_shortly(tmp_path: Path) -> None:
    check = f"{compiled('log_check')} {{pool}} > /dev/null || sleep 1000"
    program = [str(compiled("log_torn_pair")), "{pool}", "6"]
    report = explore(tmp_path, check, program, "--timeout", "10s")
    (bug,) = report.bugs
    assert bug.symptom == "hang"
    assert bug.states >= 4
    assert report.complete
    # All but the first take a hundred times what an accepted check takes.
    assert report.judge_s < 0.7 * 10 * bug.states


def test_a_checker_that_behaves_differently_when_loaded_is_started_for_each_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRASH_RUDE", "differs")
    report = report_of("program", "writes", tmp_path, "--timeout", GENEROUS)
    assert not report.bugs
    assert report.complete
    assert report.points_explored == report.points
    assert any("started for each" in warning for warning in report.warnings)
