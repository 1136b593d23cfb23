"""STREAM's arrays in this machine's memory, every thread's part on its own node."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.measure import obtain, room
from nearfar.measure.fastest_isa import FastestIsa
from nearfar.measure.native import _measure, require_native
from nearfar.memories import topology
from nearfar.memories.spec import MemorySpec, Pages, parse_spec
from nearfar_like import local_machine
from nearfar_like.stream.arrays import ELEMENT_BYTES, STREAM_FUNCTIONS, StreamFunction

ELEMENTS_PER_LINE = 64 // ELEMENT_BYTES
FIRST_TRIAL_NS = 50e6
"""Length of the first trial, ns: long enough to estimate the time of a pass."""
WARM_UP_NS = 1e6
MAX_TRIAL_NS = 2e9
"""Longest trial, ns."""


class RealArrays:
    """Three arrays, cut by node and by thread."""

    verdict = "Solution Validates: every element of every array is exact"

    def __init__(self, memory: str, threads: int | None) -> None:
        """Choose CPUs: all cores of the machine for ``dram``, else those near the memory."""
        require_native()
        self._spec = parse_spec(memory)
        self._machine = topology.detect()
        self._shares = self._cpus(threads)
        self.cpus = tuple(cpu for cpus in self._shares.values() for cpu in cpus)
        self.threads = len(self.cpus)
        self.llc_bytes = self._machine.total_llc_bytes * len(self._shares)
        self.notes: list[str] = []
        self._fastest = FastestIsa()
        if self._spec.kind == "file" and not obtain.is_direct(self._spec):
            self.notes.append(
                f"{self._spec.path} is not on a DAX file system: what is measured is its page "
                "cache, which is DRAM"
            )
        self._kernels = {kernel.name: kernel for kernel in _measure.kernels()}
        self._memories: dict[int, _measure.Memory] = {}
        self._per_thread = 0
        self._pass_ns: dict[str, float] = {}

    def _cpus(self, threads: int | None) -> dict[int, tuple[int, ...]]:
        """Return CPUs by node."""
        if self._spec.kind == "dram":
            nodes = {
                node.id: local_machine.one_per_core(node.cpus)
                for node in local_machine.nodes()
                if node.cpus
            }
        else:
            nodes = {self._machine.node or 0: self._machine.cpus}
        cores = [cpu for cpus in nodes.values() for cpu in cpus]
        count = threads or len(cores)
        if count > len(cores):
            raise NearfarError(
                f"{count} threads need {count} cores; this process may use {len(cores)}: "
                f"use --threads {len(cores)}, or allow it more CPUs (taskset, the container)",
                ExitCode.MACHINE_LACKS,
            )
        chosen = set(cores[:count])
        shares = {node: tuple(cpu for cpu in cpus if cpu in chosen) for node, cpus in nodes.items()}
        return {node: cpus for node, cpus in shares.items() if cpus}

    def prepare(self, elements: int) -> int:
        """Map the arrays; each thread has the same number of whole lines."""
        lines = -(-elements // (self.threads * ELEMENTS_PER_LINE))
        # Sequential kernels process eight lines at a time.
        self._per_thread = max(lines, 8) * ELEMENTS_PER_LINE
        part = max(map(self._part_bytes, STREAM_FUNCTIONS.values()))
        total = part * self.threads
        usable = int(room.available_bytes() * local_machine.MAX_FREE_SHARE)
        if self._spec.kind in ("dram", "node") and total > usable:
            raise NearfarError(
                f"three arrays need {format_bytes(total)}; {format_bytes(usable)} are available: "
                f"use -n {usable // (3 * ELEMENT_BYTES)} or fewer",
                ExitCode.MACHINE_LACKS,
            )
        for node, cpus in self._shares.items():
            self._memories[node] = self._map(node, -(-part * len(cpus) // 4096) * 4096)
        return self._per_thread * self.threads

    def _map(self, node: int, size_bytes: int) -> _measure.Memory:
        spec = self._spec
        pages: Pages = spec.pages or ("thp" if local_machine.default_pages() == "thp" else "4k")
        if spec.kind == "dram" and local_machine.has_numa():
            spec = MemorySpec("node", node=node, pages=pages)
        return obtain.source_of(spec, self._machine)(size_bytes, pages)

    def fill(self, function: StreamFunction) -> None:
        """Fill arrays with increasing numbers, so that no two neighbours are equal."""
        node, cpus = next(iter(self._shares.items()))
        self._fastest.of_kernel(function.kernel, cpus[0], self._memories[node])
        for memory in self._memories.values():
            words = _words(memory)
            words[:] = numbers_from(1, len(words))
        self._pass_ns.pop(function.kernel, None)

    def gb_per_s(self, function: StreamFunction) -> float:
        """Run for the time of one pass."""
        rates = self._run(function, self._pass_ns.get(function.kernel, FIRST_TRIAL_NS))
        rate = sum(rates)
        self._pass_ns[function.kernel] = min(
            self._bytes(function) * self.threads / rate, MAX_TRIAL_NS
        )
        return rate

    def wrong(self, function: StreamFunction) -> list[str]:
        """Compare every element of every thread's part."""
        if not function.factors:
            return []
        self._visit_all(function)
        mistakes = []
        for node, cpus in self._shares.items():
            words = _words(self._memories[node])
            for part, cpu in enumerate(cpus):
                first = part * self._part_bytes(function) // ELEMENT_BYTES
                wrong_count = self._count_wrong(words, first, function)
                if wrong_count:
                    mistakes.append(f"{function.name}: {wrong_count} elements of CPU {cpu}'s part")
        return mistakes

    def _visit_all(self, function: StreamFunction) -> None:
        """Run long enough for the slowest thread to visit every element.

        A trial ends after a given time, so it may not visit every element.
        """
        duration = 1.5 * self._pass_ns[function.kernel]
        while min(self._run(function, duration)) * duration < self._bytes(function):
            duration *= 2

    def _run(self, function: StreamFunction, duration_ns: float) -> list[float]:
        """Return GB/s of every thread."""
        workers = [
            _measure.Worker(
                cpu,
                function.kernel,
                self._memories[node],
                region_bytes=self._part_bytes(function) * len(cpus),
                part=part,
                parts=len(cpus),
                isa=self._fastest.chosen(function.kernel),
            )
            for node, cpus in self._shares.items()
            for part, cpu in enumerate(cpus)
        ]
        measured = _measure.together(workers, duration_ns, WARM_UP_NS)
        return [float(worker.gb_per_s) for worker in measured.each]

    def _bytes(self, function: StreamFunction) -> int:
        """Return bytes of all arrays of the function in a thread's part."""
        return function.arrays * self._per_thread * ELEMENT_BYTES

    def _part_bytes(self, function: StreamFunction) -> int:
        """Return bytes of a thread's part, whose end the kernel may leave unused."""
        return self._kernels[function.kernel].part_bytes(self._per_thread * ELEMENT_BYTES)

    def _count_wrong(self, words: NDArray[np.uint64], first: int, function: StreamFunction) -> int:
        """Return the number of wrong elements in the part that begins at word `first`."""
        size = self._per_thread
        numbers = numbers_from(first + 1, function.arrays * size)
        part = words[first : first + function.arrays * size]
        source_count = (function.arrays - 1) * size
        expected = sum(
            (
                np.uint64(factor) * numbers[number * size : (number + 1) * size]
                for number, factor in enumerate(function.factors)
            ),
            start=np.zeros(size, dtype=np.uint64),
        )
        wrong_sources = np.count_nonzero(part[:source_count] != numbers[:source_count])
        return int(wrong_sources + np.count_nonzero(part[source_count:] != expected))


def numbers_from(first: int, count: int) -> NDArray[np.uint64]:
    """Return increasing numbers, modulo 2^32: kernels multiply the lower half of each word."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    numbers &= np.uint64(0xFFFFFFFF)
    return numbers


def _words(memory: _measure.Memory) -> NDArray[np.uint64]:
    """Return a view of a memory's 64-bit words."""
    count = memory.size_bytes // ELEMENT_BYTES
    return np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(memory.address))
