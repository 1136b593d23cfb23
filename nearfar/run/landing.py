"""Pictures: what each sampled page of a process holds, and where the kernel says that page is."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.run import kernel, layout
from nearfar.run.memories import Place, nodes_here

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_PAGES = 1 << 18
"""Sampled pages that one picture asks after: of larger heaps evenly spread ones."""

WINDOW_BYTES = 4 << 30
"""Of a heap, looked at together: with its pages' numbers, tens of MiB for us."""

NOWHERE = -1
"""Of a page that was never touched: it is not there."""


@dataclass
class Counted:
    """One object's share of a picture, bytes."""

    recognised: int = 0
    by_memory: dict[str, int] = field(default_factory=dict)
    fallback: int = 0
    """Of pages that the library put near; what of it the plan wanted there too is not told."""
    elsewhere: int = 0
    """Of pages that the kernel has in another memory than the one they were bound to."""

    def there(self) -> int:
        """Return bytes of pages that are there."""
        return sum(self.by_memory.values())


@dataclass
class Picture:
    """Where everything of one process was at one moment."""

    pid: int
    objects: dict[int, Counted]
    """Number of the placement plus one, or `layout.NO_OBJECT`, to what it has."""
    heap_bytes: int
    """In blocks and recognised mappings."""
    outside_bytes: int
    """Anonymous memory that is there outside of blocks and recognised mappings."""
    refused: str = ""
    """Why the kernel would not say where pages are; empty: it did."""

    def size(self) -> tuple[int, int]:
        """Return what tells how full it is: pages there, or blocks where pages are not told."""
        return self.there(), self.heap_bytes

    def by_memory(self) -> dict[str, int]:
        """Return bytes of pages that are there, by memory."""
        found: dict[str, int] = {}
        for counted in self.objects.values():
            for name, size in counted.by_memory.items():
                found[name] = found.get(name, 0) + size
        return found

    def there(self) -> int:
        """Return bytes of pages that are there."""
        return sum(self.by_memory().values())


def read_state(pid: int, address: int) -> layout.State:
    """Return the library's state in process `pid`; raises OSError."""
    import ctypes

    # The tables at its end are long: only what is used of the last is read.
    head = layout.State.extents.offset
    state = layout.State()
    ctypes.memmove(ctypes.addressof(state), kernel.read_memory(pid, address, head), head)
    used = min(state.extent_count, layout.EXTENTS) * ctypes.sizeof(layout.Extent)
    if used:
        ctypes.memmove(
            ctypes.addressof(state) + head, kernel.read_memory(pid, address + head, used), used
        )
    if state.magic != layout.MAGIC.rstrip(b"\0"):
        raise OSError(errno.EINVAL, "the library's state is not there")
    return state


def _windows(begin: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield pieces (address, bytes) of a long stretch: its table is read one piece at a time."""
    for done in range(0, size, WINDOW_BYTES):
        yield begin + done, min(WINDOW_BYTES, size - done)


def sampled_pages(begin: int, size: int) -> NDArray[np.uint64]:
    """Return the numbers of the sampled pages between two addresses."""
    import numpy as np

    pages = np.arange(begin // layout.PAGE, (begin + size) // layout.PAGE, dtype=np.uint64)
    hashes = pages * np.uint64(layout.PAGE_FACTOR)
    sampled: NDArray[np.uint64] = pages[hashes >> np.uint64(64 - layout.PAGE_BITS) == 0]
    return sampled


def take_picture(pid: int, address: int, places: Sequence[Place]) -> Picture:
    """Ask the process' tables and the kernel; raises OSError where that is not allowed."""
    import numpy as np

    state = read_state(pid, address)
    pages: list[NDArray[np.uint64]] = []
    objects: list[NDArray[np.uint32]] = []
    memories: list[NDArray[np.uint32]] = []
    sizes: list[NDArray[np.int64]] = []
    of_page = layout.PAGE << layout.PAGE_BITS
    extents = [state.extents[i] for i in range(min(state.extent_count, layout.EXTENTS))]
    for extent in extents:
        inside = layout.FIRST_ADDRESS <= extent.begin < layout.END_ADDRESS
        if not extent.bytes or not inside:
            continue
        for begin, size in _windows(extent.begin, extent.bytes):
            first = (begin - layout.FIRST_ADDRESS) // layout.PAGE
            words = np.frombuffer(
                kernel.read_memory(pid, state.shadow + 4 * first, 4 * (size // layout.PAGE)),
                np.uint32,
            )
            begin_page = np.uint64(begin // layout.PAGE)
            counts = (words & np.uint32(layout.CHOSEN)) != 0
            counts[sampled_pages(begin, size) - begin_page] = True
            # A word without object only marks where a long block begins.
            counts &= (words & np.uint32(0xFFFF)) != 0
            some = np.flatnonzero(counts).astype(np.uint64)
            pages.append(some + begin_page)
            objects.append(words[counts] & np.uint32(0xFFFF))
            memories.append(np.full(len(some), extent.memory, np.uint32))
            chosen = (words[counts] & np.uint32(layout.CHOSEN)) != 0
            sizes.append(np.where(chosen, layout.CHOSEN_BYTES, of_page))
    for mapped in state.mapped if state.mapped_count else ():
        for begin, size in _windows(mapped.begin, mapped.bytes if mapped.begin else 0):
            some = sampled_pages(begin, size)
            pages.append(some)
            objects.append(np.full(len(some), mapped.object, np.uint32))
            where = np.zeros(len(some), np.uint32)
            for extent in extents:
                first = extent.begin // layout.PAGE
                end = (extent.begin + extent.bytes) // layout.PAGE
                where[(some >= first) & (some < end)] = extent.memory
            memories.append(where)
            sizes.append(np.full(len(some), of_page))
    if not pages:
        return Picture(pid, {}, 0, kernel.anonymous_bytes(pid, []))
    page, thing, memory = np.concatenate(pages), np.concatenate(objects), np.concatenate(memories)
    step = -(-len(page) // MOST_PAGES) or 1
    page, thing, memory = page[::step], thing[::step], memory[::step]
    stands_for = np.concatenate(sizes)[::step] * step
    addresses = page * np.uint64(layout.PAGE)
    refused = ""
    try:
        nodes = kernel.page_nodes(pid, addresses)
    except OSError as error:
        if error.errno not in kernel.REFUSALS:
            raise
        refused = error.strerror or str(error)
        nodes = np.full(len(addresses), -errno.EPERM, np.int32)
    landed = _landed(pid, addresses, nodes, memory, places)
    # A full node's pages go to another one: the binding is a preference.
    bound = np.array([place.kind == layout.NODE for place in places])[memory] & (memory != 0)
    names = [place.name for place in places]
    known = [range(one.begin, one.begin + one.bytes) for one in state.mapped if one.begin]
    outside = kernel.anonymous_bytes(pid, known)
    picture = Picture(pid, {}, int(stands_for.sum()), outside, refused)
    for number in np.unique(thing).tolist():
        mine = thing == number
        counted = picture.objects[number] = Counted(recognised=int(stands_for[mine].sum()))
        for where in np.unique(landed[mine]).tolist():
            if where == NOWHERE:
                continue
            name = names[where] if where < len(names) else f"node:{where - len(names)}"
            counted.by_memory[name] = int(stands_for[mine & (landed == where)].sum())
        there = mine & (landed != NOWHERE)
        counted.elsewhere = int(stands_for[there & bound & (landed != memory)].sum())
        counted.fallback = int(stands_for[there & (memory == 0)].sum())
    return picture


def default_nodes(places: Sequence[Place], root: Path = Path("/")) -> set[int]:
    """Return the nodes that stand for near memory where the plan says ``dram``: those of CPUs."""
    if all(place.kind != layout.DEFAULT for place in places):
        return set()
    return {node.id for node in nodes_here(root) if node.cpus}


def _landed(
    pid: int,
    addresses: NDArray[np.uint64],
    nodes: NDArray[np.int32],
    memories: NDArray[np.uint32],
    places: Sequence[Place],
) -> NDArray[np.int64]:
    """Return the number of the memory each page is in; beyond the last, a node none stands for."""
    import numpy as np

    node_of = {place.spec.node: n for n, place in enumerate(places) if place.spec.kind == "node"}
    own = default_nodes(places)
    default = next((n for n, place in enumerate(places) if place.kind == layout.DEFAULT), None)
    landed = np.full(len(addresses), NOWHERE, np.int64)
    for node in np.unique(nodes).tolist():
        if node < 0:
            continue
        number = node_of.get(node, default)
        landed[nodes == node] = len(places) + node if number is None else number
        if default is not None and number is not None and number != default and node in own:
            # Near and far memory are one node: what was asked for is all that can be told.
            both = nodes == node
            landed[both] = np.where(memories[both] == number, number, default)
    # Several memories may stand on one node: there, too.
    for number, place in enumerate(places):
        if place.spec.kind == "node":
            landed[(memories == number) & (nodes == place.spec.node)] = number
    # A file's pages are the file's, wherever the page cache has them.
    files = [mapping for mapping in kernel.mappings(pid) if mapping.is_file]
    for number, place in enumerate(places):
        if place.kind not in (layout.FILE, layout.DEVICE) or place.spec.path is None:
            continue
        path = str(place.spec.path.resolve())
        for mapping in files:
            if mapping.path == path or Path(mapping.path).parent == Path(path):
                inside = (addresses >= mapping.begin) & (addresses < mapping.end)
                landed[inside] = number
    return landed
