"""Which lines of the program did something to the pool."""

from __future__ import annotations

from collections import Counter

from nearfar.crash.layout import Kind
from nearfar.crash.sites import Sites, users
from nearfar.crash.trace import Trace
from nearfar.documents.crash_report import CrashPlace

_KINDS = (Kind.STORE, Kind.FLUSH, Kind.FENCE)


def places_of(trace: Trace, sites: Sites) -> list[CrashPlace]:
    """Return the lines, by file and line; what libraries do counts for the line that called."""
    met: Counter[tuple[Kind, tuple[int, ...]]] = Counter()
    for event in trace.events:
        if event.kind in _KINDS and event.stack:
            met[event.kind, event.stack] += 1
    sites.learn([stack for _, stack in met])
    counts: dict[tuple[str, int, str], Counter[Kind]] = {}
    for (kind, stack), times in met.items():
        frame = users(sites.frames(stack))
        if frame is not None:
            place = (frame.file, frame.line, frame.function)
            counts.setdefault(place, Counter())[kind] += times
    return [
        CrashPlace(
            function=function,
            file=file,
            line=line,
            stores=count[Kind.STORE],
            flushes=count[Kind.FLUSH],
            fences=count[Kind.FENCE],
        )
        for (file, line, function), count in sorted(counts.items())
    ]
