"""Finds the fewest lines that a symptom needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from nearfar.crash.memory import Line

State = dict[int, int]


def shrink(
    state: State, lines: Mapping[int, Line], fails: Callable[[State], bool]
) -> tuple[State, State]:
    """Return the smallest state found that still fails, and what must be missing from it.

    First what need not be missing comes back, line by line, then what need not be there goes.
    The second answer is the lines that are not whole in the smallest state and without which
    it would not fail: offset to how many stores there were in all.
    """
    whole = {offset: len(line.contents) for offset, line in lines.items()}
    fullest = _greedy(state, lines, fails, whole)
    smallest = _greedy(fullest, [o for o in lines if o in fullest], fails, {})
    missing = {
        offset: stores for offset, stores in whole.items() if fullest.get(offset, 0) < stores
    }
    return smallest, missing


def _greedy(
    state: State, order: Iterable[int], fails: Callable[[State], bool], towards: Mapping[int, int]
) -> State:
    """Move each line to what it is in `towards`, absent where absent there, if it still fails."""
    now = dict(state)
    for offset in order:
        tried = dict(now)
        if offset in towards:
            tried[offset] = towards[offset]
        else:
            tried.pop(offset, None)
        if tried != now and fails(tried):
            now = tried
    return now
