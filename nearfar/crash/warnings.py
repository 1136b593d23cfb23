"""Warnings about parts of a run that were not recorded, and so not explored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.units import LINE_BYTES, PAGE_BYTES, format_count
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.record import RecordedRun
from nearfar.crash.trace import UNSEEN, CrashTrace, EventKind

_MAX_COMPARED_BYTES = 1 << 28
"""Bytes of the pool's file that are compared; holes do not count."""


def unseen_of(trace: CrashTrace) -> str:
    """Return why flushes or fences of the run may have been missed, or ""."""
    reasons = [reason for bit, reason in UNSEEN.items() if trace.unseen & bit]
    if trace.coarse and trace.counts.get(EventKind.STREAM):
        reasons.append("it stores past the caches, and too often to record each store alone")
    return "; ".join(reasons)


def warnings_of(recorded: RecordedRun, *, eadr: bool) -> list[str]:
    """Return one sentence for each limit of a recording."""
    trace = recorded.trace
    sentences = {
        f"the program {recorded.exit_status}: its stores up to then were explored": recorded.failed,
        "no fence was seen: nothing that the program stores is ever sure to be durable": (
            not eadr and not trace.counts.get(EventKind.FENCE)
        ),
        "the trace is full: later stores were not recorded": trace.full,
        "the program stores too often to record each store alone: tears within a line may have "
        "been missed at places that store often": trace.coarse,
        "the program forked while it had the pool: its children's stores count in the order in "
        "which they came, which may differ in another run": trace.children,
        "the program wrote to the pool's file by system calls: they count as stores that fsync, "
        "msync or a flush makes durable": trace.written,
        "several processes had the pool at once: their stores and flushes count in the order in "
        "which they came, which may differ in another run": trace.others,
        "the program also mapped the pool privately: stores there cannot reach the pool": (
            trace.copied and trace.pool_bytes
        ),
        f"a thread waited for another in a way that is not scheduled ({trace.stolen} times): the "
        "same seed may give another order": trace.stolen,
        f"{_threads(trace.unscheduled)} not take turns (more than 255 were started, or not by "
        "pthread_create or thrd_create): the same seed may give another order, and no stores were "
        "judged for missing locks": trace.unscheduled and not trace.children,
        "a mapping of the pool was not recorded: too large, or too many at once": (
            trace.outside and trace.pool_bytes
        ),
    }
    return [sentence for sentence, applies in sentences.items() if applies]


def _threads(count: int) -> str:
    return "1 thread did" if count == 1 else f"{count} threads did"


def unexplained_content(state: PoolState, pool: Path) -> str:
    """Return a sentence about content of the pool's file that no recorded store wrote, or "".

    `state` has processed the whole trace. Stores are not recorded if they come from some system
    calls, other processes or unfollowed mappings, or after the last unmapping.
    """
    first, count = -1, 0
    try:
        with pool.open("rb") as file:
            for offset, line in _lines(file.fileno()):
                if line != state.line(offset)[: len(line)]:
                    first = offset if first < 0 else first
                    count += 1
    except FileNotFoundError:
        return "the program removed its pool: its content up to then was explored"
    except OSError:
        return ""
    if count == 0:
        return ""
    return (
        f"no recorded store wrote {format_count(count, 'line')} of the pool, the first at "
        f"{first:#x} (an unknown system call, another process, after the last unmapping): this "
        "content was not explored"
    )


def _lines(file: int) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of a file's 64-byte lines, holes left out."""
    at, bytes_left = 0, _MAX_COMPARED_BYTES
    size = os.fstat(file).st_size
    while at < size and bytes_left > 0:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            return  # holes only
        end = os.lseek(file, at, os.SEEK_HOLE)
        for page in range(at - at % PAGE_BYTES, end, PAGE_BYTES):
            content = os.pread(file, PAGE_BYTES, page)
            for begin in range(0, len(content), LINE_BYTES):
                yield page + begin, content[begin : begin + LINE_BYTES]
        bytes_left -= end - at
        at = end
