"""Objects that a power cut leaves allocated: by hand-made traces, no program runs."""

from __future__ import annotations

from nearfar.crash.layout import Kind
from nearfar.crash.lints.images import PoolObject
from nearfar.crash.lints.kept import Moment, Moments, is_all_the_same
from nearfar.crash.lints.transactions import Transactions
from nearfar.crash.lints.whose import Whose
from nearfar.crash.lints.world import World
from nearfar.crash.sites import Sites
from nearfar.crash.trace import Event, Module, Trace

_PROGRAM = (0x1010,)
_LIBRARY = (0x7010, 0x1020)
"""libpmemobj, called by the program."""
_ROOT = PoolObject(0x4000, 64, -1, is_reachable=True)
_OBJECT = PoolObject(0x4100, 24, 1, is_reachable=True)


def trace_of(events: list[Event]) -> Trace:
    modules = [Module(0x1000, 0x2000, "/no/program"), Module(0x7000, 0x8000, "/no/libpmemobj.so.1")]
    nothing = {"full": False, "coarse": False, "forks": 0, "others": 0, "outside": 0}
    return Trace(
        events=events,
        modules=modules,
        pool_bytes=1 << 16,
        several_threads=False,
        copied=0,
        **nothing,  # type: ignore[arg-type]
    )


def store(offset: int, words: dict[int, int], stack: tuple[int, ...] = _PROGRAM) -> Event:
    line = b"".join(words.get(at, 0).to_bytes(8, "little") for at in range(0, 64, 8))
    return Event(Kind.STORE, offset, 0, stack, line)


def allocated(kind: Kind, offset: int, size: int = 24) -> Event:
    return Event(kind, offset, size, _PROGRAM, (1).to_bytes(8, "little"))


def moments(events: list[Event], before: list[PoolObject]) -> list[Moment]:
    trace = trace_of(events)
    found = Moments(trace, Whose(Sites(trace)), before)
    for event in events:
        found.feed(event, wanted=True)
    found.finish()
    return found.found


def image(root: bytes) -> bytes:
    return bytes(0x4000) + root.ljust(64, b"\0") + bytes(0x4000)


def test_a_free_counts_when_the_call_is_over() -> None:
    handle = {0: 0x4100}
    events = [
        store(0x4000, handle),
        Event(Kind.FREE, 0x4100, 0, _PROGRAM, b""),
        store(0x4000, {}, _LIBRARY),  # it clears the handle
        store(0x4000, {8: 1}),
    ]
    (one,) = moments(events, [_ROOT, _OBJECT])
    assert one.was_freed
    assert one.contents == {0x4000: bytes(64)}
    both = [_ROOT, _OBJECT]
    assert is_all_the_same(one, both, image(b""))
    assert not is_all_the_same(one, both, image((0x4100).to_bytes(8, "little")))
    assert not is_all_the_same(one, [_ROOT], image(b""))


def test_a_handle_that_stays_in_a_stale_slot_hides_nothing() -> None:
    events = [store(0x4000, {0: 0x4100, 8: 1}), Event(Kind.FREE, 0x4100, 0, _PROGRAM, b"")]
    (one,) = moments(events, [_ROOT, _OBJECT])
    stale = (0x4100).to_bytes(8, "little") + (1).to_bytes(8, "little")
    assert is_all_the_same(one, [_ROOT, _OBJECT], image(stale))


def test_an_allocation_that_stores_its_own_handle_is_no_moment() -> None:
    own = [store(0x4000, {0: 0x4100}, _LIBRARY), allocated(Kind.ALLOC, 0x4100)]
    assert moments(own, [_ROOT]) == []
    (one,) = moments([allocated(Kind.ALLOC, 0x4100)], [_ROOT])
    assert not one.was_freed
    assert one.contents == {0x4000: bytes(64)}


def test_what_a_transaction_frees_counts_at_its_end_and_only_if_it_commits() -> None:
    def run(error: int) -> list[Moment]:
        free = Event(Kind.TX_FREE, 0x4100, 0, _PROGRAM, b"")
        begin = Event(Kind.TX_BEGIN, 1, 0, _PROGRAM, b"")
        end = Event(Kind.TX_END, 1, 0, _PROGRAM, b"", c=error)
        return moments([begin, free, store(0x4000, {8: 5}), end], [_ROOT, _OBJECT])

    assert run(error=12) == []
    (one,) = run(error=0)
    assert one.contents[0x4000][8] == 5


def test_a_handle_of_what_the_transaction_frees_is_told() -> None:
    def kinds(words: dict[int, int]) -> list[str]:
        events = [
            Event(Kind.TX_BEGIN, 1, 0, _PROGRAM, b""),
            Event(Kind.TX_SNAPSHOT, 0x4000, 64, _PROGRAM, bytes(8)),
            store(0x4000, words),
            Event(Kind.TX_FREE, 0x4100, 0, _PROGRAM, b""),
            Event(Kind.TX_END, 1, 0, _PROGRAM, b""),
        ]
        trace = trace_of(events)
        world = World(trace)
        world.held([_ROOT, _OBJECT])
        watcher = Transactions(world, Whose(Sites(trace)))
        found = []
        for event in events:
            world.feed(event)
            found += list(watcher.feed(event, world))
        return [one.kind for one in found]

    assert kinds({0: 0x4100}) == ["freed handle kept"]
    assert kinds({0: 0x4200}) == []
