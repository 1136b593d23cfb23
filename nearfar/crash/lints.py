"""What is suspicious or slow whatever the checker says."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.crash.layout import LINE_BYTES, Kind
from nearfar.crash.memory import Memory
from nearfar.crash.sites import Sites, users
from nearfar.crash.trace import Event, Trace
from nearfar.documents.crash_report import CrashLint


@dataclass(frozen=True)
class _Met:
    kind: str
    offset: int
    stack: tuple[int, ...]


def lints_of(trace: Trace, sites: Sites) -> list[CrashLint]:
    """Return each kind once per place of the program, most frequent first."""
    memory = Memory(trace.pool_bytes)
    met: list[_Met] = []
    for event in trace.events:
        if event.kind is Kind.FLUSH and _is_needless(event, memory, trace.pool_bytes):
            met.append(_Met("needless flush", event.a, event.stack))
        memory.feed(event)
    for offset, line in memory.candidates().items():
        if line.contents[-1] == memory.durable[offset : offset + LINE_BYTES]:
            continue
        kind = "never fenced" if line.flushed == len(line.contents) else "never flushed"
        met.append(_Met(kind, offset, line.stacks[-1]))
    return _grouped(met, sites)


def _is_needless(event: Event, memory: Memory, pool_bytes: int) -> bool:
    """Return whether nothing in the range was stored since it was last flushed."""
    if event.b >= pool_bytes:
        return False  # fsync: of whatever there is
    first = event.a // LINE_BYTES * LINE_BYTES
    return not any(
        (line := memory.lines.get(offset)) is not None and len(line.contents) > line.flushed
        for offset in range(first, event.a + event.b, LINE_BYTES)
    )


def _grouped(met: list[_Met], sites: Sites) -> list[CrashLint]:
    sites.learn([one.stack for one in met])
    groups: dict[object, CrashLint] = {}
    for one in met:
        frames = sites.frames(one.stack)
        if any(frame.module.startswith("libpmemobj") for frame in frames[:2]):
            continue  # its own affair: what it skips, its recovery knows of
        user = users(frames)
        key = (one.kind, user and (user.function, user.file, user.line))
        if key not in groups:
            groups[key] = CrashLint(
                kind=one.kind,  # type: ignore[arg-type]
                times=0,
                offset=one.offset,
                frames=frames,
            )
        groups[key].times += 1
    return sorted(groups.values(), key=lambda lint: -lint.times)
