"""A pool of one layout that is opened as another."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.objects import ALLOCATIONS
from nearfar.crash.lints.world import World
from nearfar.crash.trace import Event


class LayoutChanged:
    """By its name, by the size of its root, by the size of objects of one type."""

    def __init__(self, world: World) -> None:
        self._sizes: dict[int, set[int]] = {}
        self._before: dict[int, set[int]] = {}
        self._first: dict[int, Event] = {}

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        if event.kind is Kind.POOL_OPEN:
            asked, held, *_ = [*event.payload.decode(errors="replace").split("\0"), "", ""]
            if event.c and asked and held and asked != held:
                note = f"the pool holds layout {held!r} and is opened as {asked!r}"
                yield Finding("layout changed", 0, event.stack, note)
        elif event.kind is Kind.ROOT and event.b:
            before = int.from_bytes(event.payload[:8], "little")
            if before and before != event.b:
                note = f"the root has {before} bytes and is taken as one of {event.b}"
                described = world.objects.describe(event.a)
                yield Finding("layout changed", event.a, event.stack, note, described)
        elif event.kind in ALLOCATIONS:
            number = int.from_bytes(event.payload[:8], "little")
            self._sizes.setdefault(number, set()).add(event.b)
            self._first.setdefault(number, event)

    def finish(self, world: World) -> Iterator[Finding]:
        """Compare types whose objects all have one size, before the run and in it."""
        for number, before in world.sizes_before.items():
            now = self._sizes.get(number, set())
            # What the heap gave an object is more than was asked for, by its class' size.
            if len(before) == 1 and len(now) == 1 and min(now) > min(before):
                event = self._first[number]
                note = (
                    f"objects of type {number} have room for {min(before)} bytes, and now "
                    f"{min(now)} are allocated"
                )
                described = world.objects.describe(event.a)
                yield Finding("layout changed", event.a, event.stack, note, described)
