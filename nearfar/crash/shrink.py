"""Finds the fewest lines that a symptom needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from nearfar.crash.memory import PendingLine

State = dict[int, int]


def shrink(
    state: State, lines: Mapping[int, PendingLine], fails: Callable[[State], bool]
) -> tuple[State, State]:
    """Return the smallest state found that still fails, and the lines that must be missing.

    Adds each line that need not be missing, then removes each line that need not be present. The
    second result is the lines that are incomplete in the state and whose missing stores make it
    fail: offset to number of stores.
    """
    complete = {offset: len(line.contents) for offset, line in lines.items()}
    fullest = _greedy(state, lines, fails, complete)
    smallest = _greedy(fullest, [o for o in lines if o in fullest], fails, {})
    missing = {
        offset: stores for offset, stores in complete.items() if fullest.get(offset, 0) < stores
    }
    return smallest, missing


def _greedy(
    state: State, order: Iterable[int], fails: Callable[[State], bool], towards: Mapping[int, int]
) -> State:
    """Set each line as in `towards`, or remove it if absent there, if the state still fails."""
    smallest = dict(state)
    for offset in order:
        tried = dict(smallest)
        if offset in towards:
            tried[offset] = towards[offset]
        else:
            tried.pop(offset, None)
        if tried != smallest and fails(tried):
            smallest = tried
    return smallest
