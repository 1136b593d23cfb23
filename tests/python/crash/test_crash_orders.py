"""Orders of threads: which differ, which are run, and stores that nothing orders."""

from __future__ import annotations

from pathlib import Path

import pytest
from crash.crash_programs import built, explore

from nearfar.crash.interleavings import MAX_TURNS, Interleavings, Turn, turns_of
from nearfar.crash.record import record
from nearfar.crash.report.words import unfinished_text

STORE, FLUSH, FENCE, LOCK = 1, 2, 3, 4


def runs_of(steps: list[list[tuple[int, int]]], preemptions: int) -> tuple[int, set[str]]:
    """Run threads without locks in all orders; return the number of runs and the orders' names."""
    orders = Interleavings(preemptions)
    runs, new = 0, set()
    while (choices := orders.next()) is not None:
        runs += 1
        left = [list(thread) for thread in steps]
        turns: list[Turn] = []
        while any(left):
            ready = [number for number, thread in enumerate(left) if thread]
            chosen = choices[len(turns)] if len(turns) < len(choices) else -1
            if chosen not in ready:
                last = turns[-1].thread if turns else 0
                chosen = last if last in ready else ready[0]
            kind, first = left[chosen].pop(0)
            turns.append(Turn(chosen, kind, first, 1, sum(1 << number for number in ready)))
        if orders.learn(turns):
            new.add("".join(str(turn.thread) for turn in turns))
    return runs, new


def test_steps_on_other_lines_need_one_order() -> None:
    apart = [[(STORE, 1), (FLUSH, 1)], [(STORE, 2), (FLUSH, 2)]]
    assert runs_of(apart, 9)[0] == 1
    same = [[(STORE, 1)], [(STORE, 2), (STORE, 1)]]
    assert len(runs_of(same, 9)[1]) == 2
    flushes = [[(FLUSH, 1)], [(FLUSH, 1)]]
    assert runs_of(flushes, 9)[0] == 1


def test_all_orders_of_dependent_steps_are_run_up_to_the_bound() -> None:
    # Two threads with three fences each: 6! / (3! 3!) orders, all of which differ.
    fences = [[(FENCE, 0)] * 3] * 2
    runs, orders = runs_of(fences, 9)
    assert len(orders) == 20
    assert runs == 20
    # Without preemption one thread goes first; with one, a thread is cut at one of two places.
    assert len(runs_of(fences, 1)[1]) == 2 + 2 * 2


def test_a_bound_that_leaves_choices_out_is_named() -> None:
    orders = Interleavings(1)
    assert orders.next() == b""
    orders.learn([Turn(1, STORE, 1, 1, 2)])
    sentence = "1 order of the threads, no two alike, explored in 1 run with at most 1 preemption"
    assert orders.sentence() == f"{sentence}; no more differ"
    orders.learn([Turn(1, STORE, 1, 1, 2)] * MAX_TURNS)
    assert "no more were found" in orders.sentence()
    # The fence of thread 2 can come between the others only by a preemption.
    orders = Interleavings(0)
    orders.learn(
        [Turn(1, FENCE, 0, 1, 0b110), Turn(1, FENCE, 0, 1, 0b110), Turn(2, FENCE, 0, 1, 4)]
    )
    assert "2 more wait" in orders.sentence()
    assert [orders.next(), orders.next(), orders.next()] == [b"", b"\2", None]
    assert "no more were found" in orders.sentence()


def test_chosen_orders_share_the_budget_and_are_not_resumed(tmp_path: Path) -> None:
    program = built("crash_race", "-DLOCKED")
    check, options = f"{program} {{pool}} check", ["--preemptions", "1", "--schedules", "3"]
    report = explore(tmp_path, check, [str(program), "{pool}"], *options, "--states", "12")
    assert report.ended == "states"
    assert "--resume" not in unfinished_text(report)
    assert not (tmp_path / "crash-resume").exists()
    (note,) = report.warnings
    assert "explored in 3 runs" in note
    assert "more wait" in note


def test_a_store_counts_with_all_its_lines(tmp_path: Path) -> None:
    command, pool = [str(built("crash_locks")), str(tmp_path / "pool"), "wide"], tmp_path / "pool"
    trace = record(command, pool, tmp_path / "trace", json=True, choices=b"").trace
    stores = [turn for turn in turns_of(trace) if turn.kind == STORE]
    # The repeated store goes on until the page's end.
    assert [(turn.first, turn.count) for turn in stores] == [(0, 64), (2, 1)]


@pytest.mark.parametrize("program", ["crash_race", "crash_threads"])
def test_chosen_orders_find_a_race_at_once_and_pass_the_right_program(
    program: str, tmp_path: Path
) -> None:
    wrong = built(program)
    right = built(program, "-DLOCKED" if program == "crash_race" else "-DRIGHT")
    check = f"{wrong} {{pool}} check"
    options = ["--preemptions", "1", "--schedules", "30", "--first"]
    report = explore(tmp_path, check, [str(wrong), "{pool}"], *options)
    assert len(report.bugs) == 1
    assert report.bugs[0].found_states <= 100
    races = [lint for lint in report.lints if lint.kind == "unlocked update"]
    assert [lint.frames[0].function for lint in races] == ["work"] * (program == "crash_race")
    options = ["--preemptions", "1", "--schedules", "6"]
    report = explore(tmp_path, check, [str(right), "{pool}"], *options)
    assert not report.bugs
    assert not report.lints
    (note,) = report.warnings
    assert "orders of the threads, no two alike, explored" in note


def test_stores_that_waits_order_are_not_reported(tmp_path: Path) -> None:
    program = built("crash_handover")
    check, options = f"{program} {{pool}} check", ["--preemptions", "1", "--schedules", "30"]
    report = explore(tmp_path, check, [str(program), "{pool}"], *options)
    assert not report.bugs
    assert not report.lints
    (note,) = report.warnings
    assert "; no more were found" in note


def test_choices_give_the_same_run_again(tmp_path: Path) -> None:
    program, pool = built("crash_race"), tmp_path / "pool"
    events = []
    for choices in (b"", b"\1\2\2\1\1\2", b"\1\2\2\1\1\2"):
        pool.unlink(missing_ok=True)
        trace = record(
            [str(program), str(pool)], pool, tmp_path / "trace", json=True, choices=choices
        ).trace
        events.append([(event.kind, event.thread, event.a, event.c) for event in trace.events])
    assert events[1] == events[2]
    assert events[0] != events[1]


@pytest.mark.parametrize(
    "kind", ["timed", "once", "many", "signal", "c11", "write", "c11-unlocked"]
)
def test_locks_of_all_forms_are_seen(kind: str, tmp_path: Path) -> None:
    program = built("crash_locks")
    report = explore(tmp_path, "true {pool}", [str(program), "{pool}", kind], "--states", "5000")
    races = [lint for lint in report.lints if lint.kind == "unlocked update"]
    assert len(races) == (kind in {"write", "c11-unlocked"})
    assert report.exit_status == "exited 0"
    # The main thread and the first 255 others take turns.
    assert any(note.startswith("45 threads did not") for note in report.warnings) == (
        kind == "many"
    )
