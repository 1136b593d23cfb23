"""Snapshots of a process: the object on each sampled page, and the memory that the page is in."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearfar.run import layout, process_memory
from nearfar.run.local_memories import LocalMemory, local_nodes

MAX_PAGES = 1 << 18
"""Most sampled pages whose nodes one snapshot queries; of more pages, every n-th is queried."""

WINDOW_BYTES = 4 << 30
"""Heap that is read at once: with its page numbers, it takes tens of MiB of this process."""

NOT_PRESENT = -1
"""Memory number of a page that was never accessed."""

OBJECT_MASK = 0xFFFF
"""Bits of a page's word that contain its object's number."""


@dataclass
class ObjectBytes:
    """One object's bytes in a snapshot."""

    recognised: int = 0
    """Bytes in blocks of the object, present or not."""
    by_memory: dict[str, int] = field(default_factory=dict)
    """Bytes of present pages, by memory."""
    fallback: int = 0
    """Bytes of pages that the library put near, whether planned there or not."""
    elsewhere: int = 0
    """Bytes of pages that the kernel has in another memory than they were bound to."""
    as_bound: int = 0
    """Bytes of present pages in the memory that they were bound to."""

    def present(self) -> int:
        """Return the bytes of present pages."""
        return sum(self.by_memory.values())


@dataclass
class ProcessSnapshot:
    """The memory of one process at one moment."""

    pid: int
    objects: dict[int, ObjectBytes]
    """Bytes by object: the placement's number plus one, or `layout.NO_OBJECT`."""
    heap_bytes: int
    """Bytes in blocks and recognised mappings."""
    outside_bytes: int
    """Present anonymous bytes outside of blocks and recognised mappings."""
    refused: str = ""
    """Why the kernel refused the nodes of pages; empty if it did not."""

    def size(self) -> tuple[int, int]:
        """Return the key by which snapshots compare: present bytes, then bytes in blocks."""
        return sum(self.by_memory().values()), self.heap_bytes

    def by_memory(self) -> dict[str, int]:
        """Return the bytes of present pages, by memory."""
        total: dict[str, int] = {}
        for item in self.objects.values():
            for name, size in item.by_memory.items():
                total[name] = total.get(name, 0) + size
        return total


def read_state(pid: int, address: int) -> layout.State:
    """Return the library's state in process `pid`; raises OSError."""
    # The state ends with a long table of extents, of which only the used part is read.
    head = layout.State.extents.offset
    state = layout.State()
    ctypes.memmove(ctypes.addressof(state), process_memory.read_memory(pid, address, head), head)
    used = min(state.extent_count, layout.EXTENTS) * ctypes.sizeof(layout.Extent)
    if used:
        ctypes.memmove(
            ctypes.addressof(state) + head,
            process_memory.read_memory(pid, address + head, used),
            used,
        )
    if state.magic != layout.MAGIC.rstrip(b"\0"):
        raise OSError(errno.EINVAL, "the library's state is not at this address")
    return state


def _windows(begin: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield a long range as pieces (address, bytes), each small enough to be read at once."""
    for done in range(0, size, WINDOW_BYTES):
        yield begin + done, min(WINDOW_BYTES, size - done)


def sampled_pages(begin: int, size: int) -> NDArray[np.uint64]:
    """Return the numbers of the sampled pages between two addresses."""
    first, end = begin // layout.PAGE, (begin + size) // layout.PAGE
    bits = np.uint64(layout.PAGE_BITS)
    groups = np.arange(first >> layout.PAGE_BITS, (end >> layout.PAGE_BITS) + 1, dtype=np.uint64)
    hashes = groups * np.uint64(layout.PAGE_FACTOR)
    pages = groups << bits | hashes >> (np.uint64(64) - bits)
    sampled: NDArray[np.uint64] = pages[(pages >= first) & (pages < end)]
    return sampled


@dataclass(frozen=True)
class _PageSample:
    """Sampled pages with their objects, bound memories and the bytes that each stands for."""

    pages: NDArray[np.uint64]
    objects: NDArray[np.uint32]
    memories: NDArray[np.uint32]
    sizes: NDArray[np.int64]

    def thinned(self, step: int) -> _PageSample:
        """Return every `step`-th page, each of which stands for `step` times as much."""
        return _PageSample(
            self.pages[::step],
            self.objects[::step],
            self.memories[::step],
            self.sizes[::step] * step,
        )


def take_snapshot(pid: int, address: int, memories: Sequence[LocalMemory]) -> ProcessSnapshot:
    """Return the snapshot of a process; raises OSError where reading it is not allowed."""
    state = read_state(pid, address)
    extents = [state.extents[i] for i in range(min(state.extent_count, layout.EXTENTS))]
    samples = [*_block_samples(pid, state, extents), *_mapping_samples(state, extents)]
    if not samples:
        return ProcessSnapshot(pid, {}, 0, process_memory.anonymous_bytes(pid, []))
    sample = _PageSample(
        np.concatenate([part.pages for part in samples]),
        np.concatenate([part.objects for part in samples]),
        np.concatenate([part.memories for part in samples]),
        np.concatenate([part.sizes for part in samples]),
    )
    sample = sample.thinned(-(-len(sample.pages) // MAX_PAGES) or 1)
    addresses = sample.pages * np.uint64(layout.PAGE)
    refused = ""
    if any(memory.kind == layout.PAGED for memory in memories):
        actual = _paged_memory_numbers(pid, addresses, memories)
    else:
        try:
            nodes = process_memory.page_nodes(pid, addresses)
        except OSError as error:
            if error.errno not in process_memory.REFUSALS:
                raise
            refused = error.strerror or str(error)
            nodes = np.full(len(addresses), -errno.EPERM, np.int32)
        actual = _memory_numbers(pid, addresses, nodes, sample.memories, memories)
    mapped = [range(m.begin, m.begin + m.bytes) for m in state.mapped if m.begin]
    outside = process_memory.anonymous_bytes(pid, mapped)
    objects = _bytes_by_object(sample, actual, memories)
    return ProcessSnapshot(pid, objects, int(sample.sizes.sum()), outside, refused)


def _block_samples(
    pid: int, state: layout.State, extents: Sequence[layout.Extent]
) -> Iterator[_PageSample]:
    """Yield the pages of blocks that are sampled.

    The library's shadow has a word for each page, which names the object of the page's block.
    """
    page_bytes = layout.PAGE << layout.PAGE_BITS
    for extent in extents:
        if not layout.FIRST_ADDRESS <= extent.begin < layout.END_ADDRESS:
            continue
        for begin, size in _windows(extent.begin, extent.bytes):
            first = (begin - layout.FIRST_ADDRESS) // layout.PAGE
            words = np.frombuffer(
                process_memory.read_memory(
                    pid, state.shadow + 4 * first, 4 * (size // layout.PAGE)
                ),
                np.uint32,
            )
            begin_page = np.uint64(begin // layout.PAGE)
            # A word without an object only marks where a long block begins.
            has_object = (words & np.uint32(OBJECT_MASK)) != 0
            offsets = np.flatnonzero(has_object).astype(np.uint64)
            chosen = (words[has_object] & np.uint32(layout.CHOSEN)) != 0
            yield _PageSample(
                offsets + begin_page,
                words[has_object] & np.uint32(OBJECT_MASK),
                np.full(len(offsets), extent.memory, np.uint32),
                np.where(chosen, layout.CHOSEN_BYTES, page_bytes),
            )


def _mapping_samples(
    state: layout.State, extents: Sequence[layout.Extent]
) -> Iterator[_PageSample]:
    """Yield the sampled pages of recognised mappings."""
    for mapped in state.mapped if state.mapped_count else ():
        for begin, size in _windows(mapped.begin, mapped.bytes if mapped.begin else 0):
            pages = sampled_pages(begin, size)
            memories = np.zeros(len(pages), np.uint32)
            for extent in extents:
                first = extent.begin // layout.PAGE
                end = (extent.begin + extent.bytes) // layout.PAGE
                memories[(pages >= first) & (pages < end)] = extent.memory
            yield _PageSample(
                pages,
                np.full(len(pages), mapped.object, np.uint32),
                memories,
                np.full(len(pages), layout.PAGE << layout.PAGE_BITS),
            )


def _bytes_by_object(
    sample: _PageSample, landed: NDArray[np.int64], memories: Sequence[LocalMemory]
) -> dict[int, ObjectBytes]:
    """Return each object's bytes; `landed` has the memory number of each sampled page."""
    names = [memory.name for memory in memories]
    # Only bound pages can be elsewhere: the binding is a preference, so pages of a full node go to
    # another node.
    is_node = np.array([memory.kind == layout.NODE for memory in memories])
    bound = is_node[sample.memories] & (sample.memories != 0)
    objects = {}
    for number in np.unique(sample.objects).tolist():
        own = sample.objects == number
        item = objects[number] = ObjectBytes(recognised=int(sample.sizes[own].sum()))
        for memory in np.unique(landed[own]).tolist():
            if memory == NOT_PRESENT:
                continue
            name = names[memory] if memory < len(names) else f"node:{memory - len(names)}"
            item.by_memory[name] = int(sample.sizes[own & (landed == memory)].sum())
        present = own & (landed != NOT_PRESENT)
        misplaced = present & bound & (landed != sample.memories)
        item.elsewhere = int(sample.sizes[misplaced].sum())
        item.as_bound = int(sample.sizes[present & (landed == sample.memories)].sum())
        item.fallback = int(sample.sizes[present & (sample.memories == 0)].sum())
    return objects


def default_nodes(memories: Sequence[LocalMemory]) -> set[int]:
    """Return the nodes that are near memory if a memory is ``dram``: those with CPUs."""
    if all(memory.kind != layout.DEFAULT for memory in memories):
        return set()
    return {node.id for node in local_nodes() if node.cpus}


def _paged_memory_numbers(
    pid: int, addresses: NDArray[np.uint64], memories: Sequence[LocalMemory]
) -> NDArray[np.int64]:
    """Return each page's memory number: near if it is in main memory, far if it is in swap."""
    kinds = [memory.kind for memory in memories]
    numbers = np.array([NOT_PRESENT, kinds.index(layout.LOCKED), kinds.index(layout.PAGED)])
    landed: NDArray[np.int64] = numbers[process_memory.page_states(pid, addresses)]
    return landed


def _memory_numbers(
    pid: int,
    addresses: NDArray[np.uint64],
    nodes: NDArray[np.int32],
    bound: NDArray[np.uint32],
    memories: Sequence[LocalMemory],
) -> NDArray[np.int64]:
    """Return each page's memory number; numbers beyond the last memory are other nodes."""
    by_node = {m.spec.node: n for n, m in enumerate(memories) if m.spec.kind == "node"}
    near_nodes = default_nodes(memories)
    default = next((n for n, m in enumerate(memories) if m.kind == layout.DEFAULT), None)
    landed = np.full(len(addresses), NOT_PRESENT, np.int64)
    for node in np.unique(nodes).tolist():
        if node < 0:
            continue
        number = by_node.get(node, default)
        landed[nodes == node] = len(memories) + node if number is None else number
        if default is not None and number not in (None, default) and node in near_nodes:
            # Near and far memory are one node: only the binding distinguishes them.
            shared = nodes == node
            landed[shared] = np.where(bound[shared] == number, number, default)
    # Several memories may be on one node: a page bound to any of them is in that memory.
    for number, memory in enumerate(memories):
        if memory.spec.kind == "node":
            landed[(bound == number) & (nodes == memory.spec.node)] = number
    mappings = process_memory.mappings(pid)
    at, mapped = _mapping_indices(addresses, mappings)
    # The program runs meanwhile: a block may have been freed since its pages' nodes were queried.
    landed[~mapped] = NOT_PRESENT
    # A file's pages are in the file's memory, wherever the page cache has them. Of several memories
    # in one folder, it is the one that the page was bound to.
    of_mapping = _file_memories(mappings, memories)[at[mapped]]
    as_bound = of_mapping[np.arange(len(of_mapping)), bound[mapped]]
    of_file = np.where(as_bound, bound[mapped], of_mapping.argmax(axis=1))
    landed[mapped] = np.where(of_mapping.any(axis=1), of_file, landed[mapped])
    return landed


def _mapping_indices(
    addresses: NDArray[np.uint64], mappings: Sequence[process_memory.Mapping]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each address's index into `mappings`, and whether it is in any mapping."""
    begins = np.array([mapping.begin for mapping in mappings], np.uint64)
    ends = np.array([*(mapping.end for mapping in mappings), 0], np.uint64)
    at = np.searchsorted(begins, addresses, side="right") - 1
    return at, addresses < ends[at]


def _file_memories(
    mappings: Sequence[process_memory.Mapping], memories: Sequence[LocalMemory]
) -> NDArray[np.bool_]:
    """Return, for each mapping and each memory, whether the mapped file is of that memory."""
    result = np.zeros((len(mappings), len(memories)), np.bool_)
    for number, memory in enumerate(memories):
        if memory.kind not in (layout.FILE, layout.DEVICE) or memory.spec.path is None:
            continue
        path = str(memory.spec.path.resolve())
        result[:, number] = [
            mapping.is_file and path in (mapping.path, str(Path(mapping.path).parent))
            for mapping in mappings
        ]
    return result
