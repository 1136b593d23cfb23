"""Durable linearisability of hand-made histories."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nearfar.base.errors import CommandError
from nearfar.crash.adapters.history import ANYTHING, OperationHistory
from nearfar.crash.adapters.oracle import judge_content
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.trace import EventKind, TraceEvent


def begin(kind: str, key: int, value: int = 0, thread: int = 0) -> TraceEvent:
    payload = f"{kind}\0{key}\0{value}\0".encode()
    return TraceEvent(EventKind.OPERATION, 0, 0, (), payload, thread)


def end(outcome: int = 1, thread: int = 0) -> TraceEvent:
    return TraceEvent(EventKind.OUTCOME, 0, 0, (), str(outcome).encode(), thread)


def judged(
    events: list[TraceEvent], dump: str, *, at: int | None = None, empty: bool = True
) -> str:
    history = OperationHistory(events, empty=empty)
    expected = history.expected(len(events) if at is None else at)
    return judge_content(expected, CheckerVerdict("", dump)).output


def test_completed_operations_are_visible_and_those_in_flight_may_be() -> None:
    events = [begin("insert", 1, 10), end(), begin("insert", 2, 20)]
    assert judged(events, "1 10") == ""
    assert judged(events, "1 10\n2 20") == ""
    assert judged(events, "2 20") == "key 1 is gone: insert 1 10 had completed"
    assert judged(events, "1 11").startswith("key 1 holds 11, not 10")
    assert judged(events, "1 10\n3 30") == "key 3 is there, and no operation put it there"
    assert judged(events, "1 10\n1 10") == "key 1 is there twice"
    assert judged(events, "", at=0) == ""
    assert judged(events, "1 10\n2 20", at=2) == "key 2 is there: nothing had completed"


def test_a_failed_operation_changes_nothing() -> None:
    events = [begin("insert", 1, 10), end(), begin("insert", 1, 11), end(0), begin("remove", 2)]
    assert judged(events, "1 10") == ""
    assert judged(events, "1 11") != ""


def test_a_removed_key_is_absent() -> None:
    events = [begin("insert", 1, 10), end(), begin("remove", 1), end()]
    assert judged(events, "1 10") == "key 1 is there: remove 1 had completed"
    assert judged(events, "1 10", at=3) == ""


def test_a_set_has_keys_only_and_a_given_pool_may_hold_more() -> None:
    events = [begin("insert", 1, 10), end()]
    assert judged(events, "1\n7", empty=False) == ""
    assert judged(events, "7", empty=False) != ""


def test_overlapping_threads_take_either_order_and_observed_values_stay() -> None:
    events = [begin("insert", 1, 10), begin("insert", 1, 20, 1), end(), end(1, 1)]
    assert judged(events, "1 10") == ""
    assert judged(events, "1 20") == ""
    assert judged(events, "") != ""
    seen = [begin("insert", 1, 10), begin("get", 1, 0, 1), end(1, 1)]
    assert judged(seen, "1 10") == ""
    assert judged(seen, "") != ""
    assert judged(seen, "", at=2) == ""


def test_a_map_that_does_not_work_is_reported() -> None:
    history = OperationHistory([begin("insert", 1, 10), end()], empty=True)
    answer = judge_content(
        history.expected(2), CheckerVerdict("exit 1", "1 10\n! it takes no new key")
    )
    assert answer == CheckerVerdict("does not work", "it takes no new key")
    assert judge_content(history.expected(2), CheckerVerdict("SIGSEGV", "")).symptom == "SIGSEGV"


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(CommandError, match="'sort'"):
        OperationHistory([begin("sort", 1)], empty=True)


@given(st.integers(0, 10_000))
@example(326)  # a get found a key that a concurrent remove then took
def test_a_run_of_several_threads_on_a_correct_map_is_never_reported(seed: int) -> None:
    rng = random.Random(seed)
    held: dict[str, str] = {}
    flying: dict[int, tuple[str, int, int, bool]] = {}
    events: list[TraceEvent] = []
    contents = [("", 0)]
    for _ in range(12):
        thread = rng.randrange(3)
        if thread not in flying:
            kind = rng.choice(["insert", "remove", "get"])
            key, value = rng.randrange(2), rng.randrange(100)
            events.append(begin(kind, key, value, thread))
            flying[thread] = (kind, key, value, False)
        kind, key, value, applied = flying[thread]
        if not applied and rng.random() < 0.7:
            worked = str(key) in held or kind == "insert"
            if kind == "insert":
                held[str(key)] = str(value)
            elif kind == "remove":
                held.pop(str(key), None)
            contents.append(("\n".join(" ".join(pair) for pair in held.items()), len(events)))
            if rng.random() < 0.5:
                events.append(end(int(worked), thread))
                del flying[thread]
            else:
                flying[thread] = ("done", key, int(worked), True)
        elif applied:
            events.append(end(value, thread))
            del flying[thread]
    history = OperationHistory(events, empty=True)
    for dump, position in contents:
        assert judge_content(history.expected(position), CheckerVerdict("", dump)).output == ""
    assert ANYTHING not in history.possible("0", len(events))
