"""Objects that a power failure leaves allocated, in hand-made traces."""

from __future__ import annotations

from nearfar.crash.analysis.leaks import HeapMoment, HeapMoments
from nearfar.crash.analysis.origins import StackOrigins
from nearfar.crash.analysis.pool_images import PoolObject
from nearfar.crash.lint_trace import lints_of
from nearfar.crash.symbols import TraceSymbols
from nearfar.crash.trace import CrashTrace, EventKind, LoadedModule, TraceEvent

_PROGRAM = (0x1010,)
_LIBRARY = (0x7010, 0x1020)
"""libpmemobj, called by the program."""
_ROOT = PoolObject(0x4000, 64, -1, is_reachable=True)
_OBJECT = PoolObject(0x4100, 24, 1, is_reachable=True)


def trace_of(events: list[TraceEvent]) -> CrashTrace:
    modules = [
        LoadedModule(0x1000, 0x2000, "/no/program"),
        LoadedModule(0x7000, 0x8000, "/no/libpmemobj.so.1"),
    ]
    nothing = {"full": False, "coarse": False, "forks": 0, "others": 0, "outside": 0}
    return CrashTrace(
        events=events,
        modules=modules,
        pool_bytes=1 << 16,
        several_threads=False,
        copied=0,
        **nothing,  # type: ignore[arg-type]
    )


def store(offset: int, words: dict[int, int], stack: tuple[int, ...] = _PROGRAM) -> TraceEvent:
    line = b"".join(words.get(at, 0).to_bytes(8, "little") for at in range(0, 64, 8))
    return TraceEvent(EventKind.STORE, offset, 0, stack, line)


def allocated(kind: EventKind, offset: int, size: int = 24) -> TraceEvent:
    return TraceEvent(kind, offset, size, _PROGRAM, (1).to_bytes(8, "little"))


def moments(events: list[TraceEvent], before: list[PoolObject]) -> list[HeapMoment]:
    trace = trace_of(events)
    collected = HeapMoments(trace, StackOrigins(TraceSymbols(trace)), before)
    for event in events:
        collected.feed(event, keep=True)
    collected.finish()
    return collected.moments


def image(root: bytes) -> bytes:
    return bytes(0x4000) + root.ljust(64, b"\0") + bytes(0x4000)


def test_a_free_takes_effect_when_the_call_returns() -> None:
    handle = {0: 0x4100}
    events = [
        store(0x4000, handle),
        TraceEvent(EventKind.FREE, 0x4100, 0, _PROGRAM, b""),
        store(0x4000, {}, _LIBRARY),  # the caller clears the handle
        store(0x4000, {8: 1}),
    ]
    (moment,) = moments(events, [_ROOT, _OBJECT])
    assert moment.was_freed
    assert moment.contents == {0x4000: bytes(64)}
    both = [_ROOT, _OBJECT]
    assert moment.matches(both, image(b""))
    assert not moment.matches(both, image((0x4100).to_bytes(8, "little")))
    assert not moment.matches([_ROOT], image(b""))


def test_a_handle_in_a_stale_slot_hides_no_leak() -> None:
    events = [
        store(0x4000, {0: 0x4100, 8: 1}),
        TraceEvent(EventKind.FREE, 0x4100, 0, _PROGRAM, b""),
    ]
    (moment,) = moments(events, [_ROOT, _OBJECT])
    stale = (0x4100).to_bytes(8, "little") + (1).to_bytes(8, "little")
    assert moment.matches([_ROOT, _OBJECT], image(stale))


def test_an_allocation_that_stores_its_own_handle_is_no_leak() -> None:
    own = [store(0x4000, {0: 0x4100}, _LIBRARY), allocated(EventKind.ALLOC, 0x4100)]
    assert moments(own, [_ROOT]) == []
    (moment,) = moments([allocated(EventKind.ALLOC, 0x4100)], [_ROOT])
    assert not moment.was_freed
    assert moment.contents == {0x4000: bytes(64)}


def test_a_transaction_frees_at_its_end_and_only_if_it_commits() -> None:
    def run(error: int) -> list[HeapMoment]:
        free = TraceEvent(EventKind.TX_FREE, 0x4100, 0, _PROGRAM, b"")
        begin = TraceEvent(EventKind.TX_BEGIN, 1, 0, _PROGRAM, b"")
        end = TraceEvent(EventKind.TX_END, 1, 0, _PROGRAM, b"", c=error)
        return moments([begin, free, store(0x4000, {8: 5}), end], [_ROOT, _OBJECT])

    assert run(error=12) == []
    (moment,) = run(error=0)
    assert moment.contents[0x4000][8] == 5


def test_a_handle_of_an_object_that_the_transaction_frees_is_reported() -> None:
    def kinds(words: dict[int, int]) -> list[str]:
        events = [
            TraceEvent(EventKind.ROOT, 0x4000, 64, _PROGRAM, bytes(8)),
            allocated(EventKind.ALLOC, 0x4100),
            TraceEvent(EventKind.TX_BEGIN, 1, 0, _PROGRAM, b""),
            TraceEvent(EventKind.TX_SNAPSHOT, 0x4000, 64, _PROGRAM, bytes(8)),
            store(0x4000, words),
            TraceEvent(EventKind.TX_FREE, 0x4100, 0, _PROGRAM, b""),
            TraceEvent(EventKind.TX_END, 1, 0, _PROGRAM, b""),
        ]
        trace = trace_of(events)
        reported, _ = lints_of(trace, TraceSymbols(trace), eadr=True)
        return [lint.kind for lint in reported]

    assert kinds({0: 0x4100}) == ["freed handle kept"]
    assert kinds({0: 0x4200}) == []
