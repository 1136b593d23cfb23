"""A root that leads nowhere any more."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.layout import Kind
from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.images import Images
from nearfar.crash.lints.objects import ALLOCATIONS
from nearfar.crash.lints.world import World
from nearfar.crash.memory import Memory
from nearfar.crash.trace import Event


class RootOverwritten:
    """The last handle of what lives is overwritten, or the data never hung on the root."""

    def __init__(self, world: World, images: Images | None) -> None:
        self._images = images
        self._memory = Memory(world.trace.pool_bytes, eadr=True)
        self._has_root = bool(world.trace.counts.get(Kind.ROOT))
        self._taken: Event | None = None
        self._walks = False
        self._made: set[int] = set()
        """Objects that the run allocated."""
        self._overwritten: dict[int, Finding] = {}
        """Object to the last store that took its handle out of the root."""

    def feed(self, event: Event, world: World) -> Iterator[Finding]:
        """Take one event."""
        if not self._has_root:
            return
        self._memory.feed(event)
        self._walks |= event.kind is Kind.WALK
        if event.kind in ALLOCATIONS:
            self._made.add(event.a)
        if event.kind is Kind.ROOT:
            self._taken = event
        root = world.root
        if event.kind is Kind.STORE and root is not None:
            for offset, before, after in world.words:
                held = world.objects.that_begins(before)
                if root.begin <= offset < root.end and held is not None and before != after:
                    note = f"it held the object at {before:#x}, which still lives"
                    self._overwritten[before] = Finding(
                        "root overwritten",
                        offset,
                        event.stack,
                        note,
                        world.objects.describe(offset),
                    )
        yield from ()

    def finish(self, world: World) -> Iterator[Finding]:
        """Ask what can be reached in the pool that the program left."""
        size = world.trace.pool_bytes
        if self._images is None or self._taken is None or not self._images.fits(size):
            return
        if self._walks or not self._made:
            return
        self._images.put(self._memory.durable, {}, size)
        objects = [one for one in self._images.objects() if one.type_number >= 0]
        lost = {one.offset for one in objects if not one.is_reachable}
        found = [finding for begin, finding in self._overwritten.items() if begin in lost]
        yield from found
        made = [one.offset for one in objects if one.offset in self._made]
        if not found and made and lost.issuperset(made):
            note = f"none of {len(made)} objects that it allocated can be reached from the root"
            described = world.objects.describe(self._taken.a)
            yield Finding("root overwritten", self._taken.a, self._taken.stack, note, described)
