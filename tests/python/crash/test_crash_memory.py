"""Possible contents of memory after a power failure, from hand-made traces."""

from __future__ import annotations

from nearfar.crash.bugs import shrink
from nearfar.crash.memory import PendingLine, PoolMemory
from nearfar.crash.trace import EventKind, TraceEvent


def store(offset: int, value: int) -> TraceEvent:
    return TraceEvent(EventKind.STORE, offset, 0, (1,), bytes([value]) * 64)


def flush(offset: int, size: int = 1) -> TraceEvent:
    return TraceEvent(EventKind.FLUSH, offset, size, (), b"")


FENCE = TraceEvent(EventKind.FENCE, 0, 0, (), b"")


def test_only_lines_flushed_before_the_fence_are_durable_after_it() -> None:
    memory = PoolMemory(4096)
    for event in (store(0, 1), flush(0), store(0, 2), store(64, 3), FENCE):
        memory.feed(event)
    assert memory.durable[0] == 1
    assert memory.durable[64] == 0
    assert {o: line.contents for o, line in memory.lines.items()} == {
        0: [b"\2" * 64],
        64: [b"\3" * 64],
    }


def test_a_flush_covers_every_line_of_its_range() -> None:
    memory = PoolMemory(4096)
    for event in (store(0, 1), store(64, 2), store(128, 3), flush(60, 8), FENCE):
        memory.feed(event)
    assert [memory.durable[at] for at in (0, 64, 128)] == [1, 2, 0]


def test_with_persistent_caches_all_stores_are_durable() -> None:
    memory = PoolMemory(4096, eadr=True)
    memory.feed(store(64, 7))
    assert memory.durable[64] == 7
    assert not memory.candidates()


def test_the_libraries_own_fields_are_never_uncertain() -> None:
    memory = PoolMemory(16384)
    memory.feed(TraceEvent(EventKind.BASE, 0, 4096, (), b"PMEMOBJ".ljust(4096, b"\0")))
    for offset in (4096, 8192):
        memory.feed(store(offset, 1))
    assert list(memory.candidates()) == [8192]


def test_a_fence_covers_only_flushes_of_its_own_thread() -> None:
    memory = PoolMemory(4096)
    own_fence, others = (TraceEvent(EventKind.FENCE, 0, 0, (), b"", thread) for thread in (0, 1))
    for event in (store(0, 1), flush(0), others):
        memory.feed(event)
    assert memory.durable[0] == 0
    memory.feed(store(0, 2))
    memory.feed(own_fence)
    assert memory.durable[0] == 1
    assert memory.lines[0].contents == [b"\2" * 64]


def test_a_flush_of_a_durable_line_covers_no_later_stores() -> None:
    memory = PoolMemory(4096)
    both = [TraceEvent(EventKind.FLUSH, 0, 64, (), b"", thread) for thread in (0, 1)]
    for event in (store(0, 1), *both, FENCE, store(0, 2)):
        memory.feed(event)
    memory.feed(TraceEvent(EventKind.FENCE, 0, 0, (), b"", 1))
    assert memory.durable[0] == 1


def test_shrinking_keeps_what_the_symptom_needs() -> None:
    lines = {offset: PendingLine([b"x"], [()]) for offset in range(0, 640, 64)}

    def fails(state: dict[int, int]) -> bool:
        return 128 in state and 256 not in state

    begin = dict.fromkeys((0, 128, 192, 512), 1)
    assert shrink(begin, lines, fails) == ({128: 1}, {256: 1})
