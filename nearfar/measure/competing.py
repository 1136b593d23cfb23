"""Competing copies on this machine: buffers in two memories, and threads that copy within them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.measure import room
from nearfar.measure.fastest_isa import FastestIsa
from nearfar.measure.joint import CopyRun
from nearfar.measure.native import _measure
from nearfar.measure.obtain import file_system_bytes, is_direct, source_of
from nearfar.memories.checks import check_devdax, check_node
from nearfar.memories.spec import MemorySpec, Pages
from nearfar.memories.topology import Topology, node_memory_bytes

if TYPE_CHECKING:
    from nearfar._measure import Memory

DURATION_NS = 15e6
WARM_UP_NS = 3e6
"""Timed and warm-up time: 15 ms move some 150 MB a core, far more than caches absorb."""

CACHED_BYTES = 4096
"""Size of the buffer that an idle CPU reads repeatedly, in its first-level cache."""

BUFFERS_OF_A = 3
"""A->A takes two; the other group's copies to or from A take one of their own."""
BUFFERS_OF_B = 2

SAMPLED_PAGES = 64


class CompetingCopies:
    """A `joint.Copier` of two memories of this machine; holds five buffers while it lives."""

    def __init__(self, a: MemorySpec, b: MemorySpec, machine: Topology) -> None:
        """Map the buffers: each four times the last-level cache, or less if memory is short."""
        check_pair(a, b, machine)
        self._cpus = machine.cpus
        self.threads = len(machine.cpus)
        size = _buffer_bytes(a, b, machine)
        first = source_of(a, machine)
        # One source hands out the parts of a DAX device, so that no part is handed out twice.
        one_device = a.kind == b.kind == "devdax" and a.path == b.path
        second = first if one_device else source_of(b, machine)
        self._a = [first(size, _pages(a)) for _ in range(BUFFERS_OF_A)]
        self._b = [second(size, _pages(b)) for _ in range(BUFFERS_OF_B)]
        self._idle = source_of(MemorySpec("dram"), machine)(CACHED_BYTES, "4k")
        self._fastest = FastestIsa()
        self.one_memory = _in_one_memory(a, b, self._a, self._b)

    def together(self, run: CopyRun) -> tuple[float, ...]:
        """Return GB/s of payload of each group of `run`, all running at once."""
        workers: list[_measure.Worker] = []
        used = 0
        for number, (copy, threads) in enumerate(run):
            source, target = self._source_and_target(copy, second=number > 0)
            for part in range(threads):
                cpu = self._cpus[used]
                used += 1
                isa = self._fastest.of_kernel("copy", cpu, source, target)
                workers.append(
                    _measure.Worker(cpu, "copy", source, target, part=part, parts=threads, isa=isa)
                )
        if used < self.threads and len(workers) == 1:
            # A lone worker is timed by its CPU time, several by the wall clock. A second worker
            # that stays in its first-level cache makes both cases comparable, in timing and in
            # core frequency.
            idle = self._cpus[used]
            workers.append(
                _measure.Worker(idle, "read", memory=self._idle, region_bytes=CACHED_BYTES)
            )
        drawn = iter(_measure.together(workers, DURATION_NS, WARM_UP_NS).each)
        return tuple(sum(next(drawn).gb_per_s for _ in range(threads)) for _, threads in run)

    def _source_and_target(self, copy: str, *, second: bool) -> tuple[Memory, Memory]:
        """Return source and target; the second group shares no buffer with the first."""
        a1, a2, a3 = self._a
        b1, b2 = self._b
        if copy == "A->A":
            if second:
                raise ValueError("the second group copies within, from or to B")
            return a1, a2
        return {"B->B": (b1, b2), "B->A": (b1, a3), "A->B": (a3, b1)}[copy]


def check_pair(a: MemorySpec, b: MemorySpec, machine: Topology) -> None:
    """Refuse memories that are not there, not real, or too small to copy within."""
    for spec in (a, b):
        _check(spec)
        source_of(spec, machine)
    _buffer_bytes(a, b, machine)


def _check(spec: MemorySpec) -> None:
    if spec.kind == "model":
        raise NearfarError(
            f"joint limits need two memories of this machine, and {spec} is simulated: name "
            "memories such as dram, node:1 or file:/mnt/pmem0"
        )
    if spec.load != "none":
        raise NearfarError(f"{spec}: leave out load=, the copies are each other's load")
    if spec.kind == "node" and spec.node is not None:
        check_node(spec.node)


def _pages(spec: MemorySpec) -> Pages:
    return spec.pages or "thp"


def _buffer_bytes(a: MemorySpec, b: MemorySpec, machine: Topology) -> int:
    wanted = room.CACHES_PER_REGION // 2 * machine.total_llc_bytes
    count = BUFFERS_OF_A + BUFFERS_OF_B
    size = min(wanted, int(room.available_bytes() * room.USABLE_SHARE) // count)
    for spec, buffers in ((a, BUFFERS_OF_A), (b, BUFFERS_OF_B)):
        if spec.kind == "node" and spec.node is not None:
            size = min(size, int(node_memory_bytes(spec.node)[1] * room.USABLE_SHARE) // buffers)
        if spec.kind == "devdax" and spec.path is not None:
            size = min(size, check_devdax(spec.path)[0] // (count if a.path == b.path else buffers))
        if spec.kind == "file" and spec.path is not None and spec.path.exists():
            size = min(size, int(file_system_bytes(spec.path)[1] * room.USABLE_SHARE) // buffers)
    size = size // (2 << 20) * (2 << 20)
    if size <= machine.total_llc_bytes:
        raise NearfarError(
            f"too little memory for competing copies of {a} and {b}: {count} buffers of more than "
            f"the last-level caches ({format_bytes(machine.total_llc_bytes)}) do not fit in what "
            "may be used; end other programs, or free space for a file:",
            ExitCode.MACHINE_LACKS,
        )
    return size


def _in_one_memory(a: MemorySpec, b: MemorySpec, of_a: list[Memory], of_b: list[Memory]) -> bool:
    """Say whether both lie in the same DRAM: on one node, or in its page cache."""
    for spec in (a, b):
        if spec.kind == "devdax" or (spec.kind == "file" and is_direct(spec)):
            return False  # the node of such a page is that of the CPUs beside it
    try:
        nodes_a = {node for memory in of_a for node in memory.nodes(SAMPLED_PAGES)}
        nodes_b = {node for memory in of_b for node in memory.nodes(SAMPLED_PAGES)}
    except OSError:
        return a.kind == b.kind == "dram"  # no kernel with nodes: there is one memory
    return nodes_a == nodes_b and len(nodes_a) == 1 and min(nodes_a) >= 0
