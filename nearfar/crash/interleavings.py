"""Orders of threads, no two equivalent: which choices of the next thread make a difference.

A run is a sequence of turns. In a turn, one thread takes a step (a store, flush, fence or lock) and
continues to its next step. Two runs are equivalent if they differ only in the order of independent
steps. Dynamic partial-order reduction (Flanagan, Godefroid, POPL 2005) examines pairs of dependent
steps that nothing orders, and so finds the choices that lead to runs that are not equivalent.

A preemption takes a turn from a thread that could have had it. Runs with few preemptions come
first, and runs with more than a bound are left out (Musuvathi, Qadeer, PLDI 2007). If the bound
forbids a preemption, the other thread is tried before the first of the consecutive turns of the
thread that would lose its turn (Coons, Musuvathi, McKinley, OOPSLA 2013). Orders within the bound
may still be missed.

Loads are not recorded. They follow the thread's previous step, so an order of two steps on lines
that a thread only reads is tried only if other steps of the two threads depend.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.crash.trace import CrashTrace, EventKind

_STORE, _FLUSH, _FENCE, _LOCK = 1, 2, 3, 4
_MAX_LINES = 64
"""Maximum number of lines of one flush that are considered."""
MAX_TURNS = 4096
"""Number of turns for which the recorder uses choices: native/crash/schedule.cpp."""

_Key = tuple[int, int]
_Clock = dict[int, int]
"""Vector clock: by thread, the number of its steps that precede in every equivalent run."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A thread's turn, and the step with which it begins."""

    thread: int
    kind: int
    first: int
    count: int
    ready: int
    """Threads that could have had the turn, as bits."""

    def touched(self) -> Iterator[_Key]:
        """Yield the lines or locks that the step touches."""
        if self.kind in (_STORE, _FLUSH):
            for line in range(self.first, self.first + min(self.count, _MAX_LINES)):
                yield _STORE, line
        elif self.kind in (_FENCE, _LOCK):
            yield self.kind, self.first


def turns_of(trace: CrashTrace) -> list[Turn]:
    """Return the turns of a run whose orders were chosen."""
    return [
        Turn(
            event.c & 0xFFFF,
            event.c >> 16,
            event.a,
            int.from_bytes(event.payload, "little"),
            event.b,
        )
        for event in trace.events
        if event.kind is EventKind.TURN
    ]


class Interleavings:
    """Choices for the next run, based on the runs so far."""

    def __init__(self, max_preemptions: int) -> None:
        self._max_preemptions = max_preemptions
        self._queue: list[tuple[int, int, bytes]] = [(0, 0, b"")]
        self._known: set[int] = set()
        """Keys of the beginnings of runs that were run or planned."""
        self._seen: set[int] = set()
        """Keys of the runs so far; equivalent runs share a key."""
        self._runs = 0
        self._left_out = False
        """Whether a choice was excluded: too many preemptions, or too late in a run."""

    def next(self) -> bytes | None:
        """Return the threads to choose at the first turns; None: all orders were run."""
        if not self._queue:
            return None
        self._runs += 1
        return heapq.heappop(self._queue)[2]

    def sentence(self) -> str:
        """Return how many orders were explored, and whether more differ."""
        if self._queue:
            more = f"{len(self._queue)} more wait: give more --schedules, or a larger budget"
        elif self._left_out:
            left_out = f"beyond the bound or after {MAX_TURNS} turns"
            more = f"no more were found: choices {left_out} were left out"
        else:
            more = "no more differ"
        seen, bound = len(self._seen), self._max_preemptions
        return (
            f"{seen} {'order' if seen == 1 else 'orders'} of the threads, no two alike, explored "
            f"in {self._runs} {'run' if self._runs == 1 else 'runs'} with at most {bound} "
            f"{'preemption' if bound == 1 else 'preemptions'}; {more}"
        )

    def learn(self, turns: list[Turn]) -> bool:
        """Plan the orders that a run suggests; return whether no earlier run was equivalent."""
        self._left_out |= len(turns) >= MAX_TURNS
        turns = turns[:MAX_TURNS]
        preempted = _preemptions(turns)
        begins = list(itertools.accumulate((turn.thread for turn in turns), _extend, initial=0))
        self._known.update(begins)
        for at, thread in _races(turns):
            if self._branch(turns, begins, preempted, at, thread):
                continue
            # A preemption here would exceed the bound, so the other thread is tried before the
            # first of this thread's consecutive turns.
            first = at
            while first and turns[first - 1].thread == turns[at].thread:
                first -= 1
            self._branch(turns, begins, preempted, first, thread)
        key = _run_key(turns)
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _branch(
        self, turns: list[Turn], begins: list[int], preempted: list[int], at: int, thread: int
    ) -> bool:
        """Plan runs in which another thread has the turn; return whether the bound allows all."""
        ready = turns[at].ready
        others = [thread] if ready >> thread & 1 else [n for n in range(64) if ready >> n & 1]
        allowed = True
        for other in others:
            before = turns[at - 1].thread if at else other
            count = preempted[at] + (before != other and bool(ready >> before & 1))
            if count > self._max_preemptions:
                allowed &= other == turns[at].thread
            elif (begin := _extend(begins[at], other)) not in self._known:
                choices = bytes([*(turn.thread for turn in turns[:at]), other])
                heapq.heappush(self._queue, (count, len(self._known), choices))
                self._known.add(begin)
        self._left_out |= not allowed
        return allowed


def _extend(begin: int, thread: int) -> int:
    """Return the key of the beginning of a run that has key `begin`, plus a turn of `thread`."""
    return hash((begin, thread))


def _preemptions(turns: list[Turn]) -> list[int]:
    """Return the number of preemptions before each turn."""
    counts = [0, 0]
    for before, turn in itertools.pairwise(turns):
        taken = before.thread != turn.thread and turn.ready >> before.thread & 1
        counts.append(counts[-1] + int(bool(taken)))
    return counts


class _VectorClocks:
    """The order of dependent steps of one run, by vector clocks."""

    def __init__(self) -> None:
        self._clocks: dict[int, _Clock] = defaultdict(dict)
        self._last: dict[_Key, dict[tuple[int, bool], tuple[int, int, _Clock]]] = defaultdict(dict)
        """Last steps on each line or lock, by thread and whether the step was a flush: number among
        the thread's steps, index of the turn, clock."""

    def take(self, at: int, turn: Turn) -> tuple[list[int], _Clock]:
        """Process a turn; return the turns that it might have preceded, and its clock."""
        clock = self._clocks[turn.thread]
        races, ordered = [], dict(clock)
        for key in turn.touched():
            for (thread, flushed), (number, earlier, known) in self._last[key].items():
                if thread == turn.thread or (flushed and turn.kind == _FLUSH):
                    continue
                if number > clock.get(thread, 0):
                    races.append(earlier)
                for other, count in known.items():
                    ordered[other] = max(ordered.get(other, 0), count)
        number = ordered.get(turn.thread, 0) + 1
        ordered[turn.thread] = number
        self._clocks[turn.thread] = ordered
        for key in turn.touched():
            self._last[key][turn.thread, turn.kind == _FLUSH] = (number, at, ordered)
        return races, ordered


def _races(turns: list[Turn]) -> Iterator[tuple[int, int]]:
    """Yield (turn, thread) if a later step of the thread may come before the step of the turn."""
    walk = _VectorClocks()
    for at, turn in enumerate(turns):
        for earlier in walk.take(at, turn)[0]:
            yield earlier, turn.thread


def _run_key(turns: list[Turn]) -> int:
    """Return a key that equivalent runs share."""
    walk = _VectorClocks()
    steps = set()
    for at, turn in enumerate(turns):
        clock = walk.take(at, turn)[1]
        if turn.kind:
            order = tuple(sorted(clock.items()))
            steps.add((turn.thread, turn.kind, turn.first, turn.count, order))
    return hash(frozenset(steps))
