"""Addresses of memory that is no pool, stored in the pool."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.world import World
from nearfar.crash.trace import Event

_RUN_TIME_BYTES = 8192
"""libpmemobj keeps addresses of its run in the pool's first 8 KiB and makes them anew."""
_NAMES = {"[heap]": "the heap", "[stack]": "the stack", "": "anonymous memory (heap or a stack)"}


class VolatilePointers:
    """The recorder compares each word with the list of mappings; this only tells."""

    def __init__(self, world: World) -> None:
        pass

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        if event.kind is not Kind.POINTER or (world.uuid and event.a < _RUN_TIME_BYTES):
            return
        name = event.payload.decode(errors="replace")
        where = _NAMES.get(name, name.rsplit("/", 1)[-1])
        note = f"{event.b:#x} is in {where}"
        yield Finding(
            "volatile pointer", event.a, event.stack, note, world.objects.describe(event.a)
        )

    def finish(self, world: World) -> Iterator[Finding]:
        """Have nothing to add."""
        yield from ()
