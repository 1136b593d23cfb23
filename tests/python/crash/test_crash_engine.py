"""Workers, schedules and resumption: a seed finds the same bugs with any number of workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crash.crash_programs import built, compiled, explore
from patience import patience

from nearfar.__main__ import main
from nearfar.crash.record import record
from nearfar.crash.scratch import copy_sparse
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import load


def bug_keys(report: CrashReport) -> list[object]:
    return [(bug.symptom, bug.point, bug.at, bug.survived, bug.lost) for bug in report.bugs]


def threads(*flags: str) -> Path:
    return built("crash_threads", *flags)


def test_two_workers_find_the_same_as_one(tmp_path: Path) -> None:
    check = f"{compiled('log_check')} {{pool}}"
    program = [str(compiled("log_torn_pair")), "{pool}", "40"]
    single = explore(tmp_path, check, program)
    pairs = [explore(tmp_path, check, program, "--workers", "2") for _ in range(2)]
    assert single.complete
    assert pairs[0].complete
    assert bug_keys(pairs[0]) == bug_keys(pairs[1]) == bug_keys(single)
    assert pairs[0].states == pairs[1].states >= single.states
    assert pairs[0].points == pairs[0].points_explored == single.points_explored


def test_states_beyond_a_budget_are_explored_by_the_next_run(tmp_path: Path) -> None:
    check = f"{compiled('log_check')} {{pool}}"
    program = [str(compiled("log_torn_pair")), "{pool}", "20"]
    complete = explore(tmp_path, check, program)
    assert complete.complete
    assert main(["crash", "--resume", "-o", str(tmp_path / "crash.json"), "--check", check, "--",
                 *program]) == 2  # fmt: skip
    report = explore(tmp_path, check, program, "--states", "40")
    assert not report.complete
    assert (tmp_path / "crash-resume" / "trace").stat().st_size < 1 << 20
    times = 0
    while not report.complete:
        assert times < 20
        before, times = report.states, times + 1
        report = explore(tmp_path, check, program, "--states", "60", "--resume")
        assert report.complete or report.states > before
    assert times > 1
    assert report.points_explored == report.points == complete.points
    assert [bug[:1] for bug in bug_keys(report)] == [bug[:1] for bug in bug_keys(complete)]  # type: ignore[index]
    assert not (tmp_path / "crash-resume").exists()


def test_a_busy_machine_gives_the_same_report(tmp_path: Path) -> None:
    check = f"{compiled('log_check')} {{pool}}"
    program = [str(compiled("log_torn_pair")), "{pool}", "12"]
    quiet = explore(tmp_path, check, program, "--states", "80")
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        busy = explore(tmp_path, check, program, "--states", "80")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert bug_keys(busy) == bug_keys(quiet)
    assert [bug.found_states for bug in busy.bugs] == [bug.found_states for bug in quiet.bugs]
    assert (busy.states, busy.duplicates, busy.points_explored) == (
        quiet.states,
        quiet.duplicates,
        quiet.points_explored,
    )
    assert busy.lints == quiet.lints
    assert not busy.complete


def test_the_seed_decides_the_schedule_of_threads(tmp_path: Path) -> None:
    orders = []
    for schedule in (1, 2, 3, 1):
        pool = tmp_path / "pool"
        pool.unlink(missing_ok=True)
        recorded = record(
            [str(threads()), str(pool)], pool, tmp_path / "trace", json=True, schedule=schedule
        )
        assert not recorded.failed
        assert recorded.trace.stolen == 0
        orders.append([(event.kind, event.thread, event.a) for event in recorded.trace.events])
    assert orders[0] == orders[3]
    assert orders[0] != orders[1] or orders[1] != orders[2]
    assert {thread for _, thread, _ in orders[0]} >= {1, 2}


def test_a_bug_of_two_threads_shows_in_some_schedule(tmp_path: Path) -> None:
    check = f"{threads()} {{pool}} check"
    wrong = explore(tmp_path, check, [str(threads()), "{pool}"], "--schedules", "3")
    (bug,) = wrong.bugs
    assert bug.lost
    right = explore(tmp_path, check, [str(threads("-DRIGHT")), "{pool}"], "--schedules", "3")
    assert not right.bugs
    assert right.operations == 3 * 9
    assert not right.warnings


@pytest.mark.long  # chosen orders find it in two, test_crash_orders.py
def test_an_update_of_one_instruction_is_lost_in_some_order(tmp_path: Path) -> None:
    race, locked = built("crash_race"), built("crash_race", "-DLOCKED")
    wrong = explore(tmp_path, f"{race} {{pool}} check", [str(race), "{pool}"], "--schedules", "12")
    assert [bug.symptom for bug in wrong.bugs] == ["exit 1"]
    (warning,) = wrong.warnings
    assert "orders of the threads leave a pool that the checker refuses" in warning
    check = f"{locked} {{pool}} check"
    right = explore(tmp_path, check, [str(locked), "{pool}"], "--schedules", "12")
    assert not right.bugs
    assert not right.warnings


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_the_bugs_found_so_far(number: signal.Signals, tmp_path: Path) -> None:
    output = tmp_path / "crash.json"
    check = f"sleep 0.05; {compiled('log_check')} {{pool}}"
    program = [str(compiled("log_torn_pair")), "{pool}", "50"]
    # The limit is generous, so that a busy machine changes nothing.
    limits = ["--seconds", f"{patience(200):.0f}", "--timeout", f"{patience(100):.0f}s"]
    words = ["crash", "--check", check, *limits, "-o", str(output), "--", *program]
    process = subprocess.Popen(
        [sys.executable, "-m", "nearfar", *words],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    # About 500 states of 50 ms or more are left at this point.
    assert any("the checker is" in line for line in process.stderr)
    time.sleep(1)
    os.killpg(process.pid, number)
    process.stderr.read()
    assert process.wait(patience(60)) == 130
    report = load(output, CrashReport)
    assert not report.complete
    assert (tmp_path / "crash-resume" / "state.jsonl").exists()


def test_a_copy_of_a_sparse_pool_is_sparse(tmp_path: Path) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.seek(5 << 20)
        file.write(b"x" * 5000)
        file.truncate(64 << 20)
    copy = tmp_path / "copy"
    copy_sparse(source, copy)
    assert copy.stat().st_size == 64 << 20
    assert copy.stat().st_blocks <= source.stat().st_blocks
    with copy.open("rb") as file:
        file.seek(5 << 20)
        assert file.read(5001) == b"x" * 5000 + b"\0"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--workers", "0"], "--workers 0: it must be from 1 to"),
        (["--workers", "100000"], "--workers 100000: it must be from 1 to"),
        (["--schedules", "-1"], "--schedules -1: it must be from 1 to"),
        (["--seed", "-1"], "--seed -1: it must be from 0 to 18446744073709551615"),
        (["--seed", str(1 << 64)], "it must be from 0 to 18446744073709551615"),
        (["--states", "0"], "--states 0: it must be from 1 to"),
        (["--seconds", "inf"], "--seconds inf: it must be more than 0"),
        (["--seconds", "nan"], "--seconds nan: it must be more than 0"),
        (["--seconds", "-3"], "--seconds -3: it must be more than 0"),
        (["--timeout", "0s"], "it must be from 1ms to 24h"),
        (["--timeout", "999h"], "it must be from 1ms to 24h"),
        (["--resume"], "name it by -o"),
    ],
)
def test_wrong_use_is_refused(
    options: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["crash", "--check", "true {pool}", *options, "--", "true", "{pool}"]
    assert main(words) == 2
    assert sentence in capfd.readouterr().err
