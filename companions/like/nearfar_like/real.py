"""The machine as a bench: memory on the requested node, threads of the native harness."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.measure import obtain, room
from nearfar.measure.fastest_isa import FastestIsa
from nearfar.measure.native import _measure, require_native
from nearfar.measure.warm_up import warm_up_accesses
from nearfar.memories import checks, topology
from nearfar.memories.spec import PAGE_BYTES, MemorySpec, Pages
from nearfar_like import local_machine
from nearfar_like.bench import BufferPlace, Chase, HandOff, NodeFacts, Values, Worker
from nearfar_like.repeat import MIN_SAMPLES, Effort, repeat

TIMED_ACCESSES = 50_000
MIN_CHASE_NS = 5e6
"""Shortest timed chase, ns: 5 ms, with a clock resolution below 1 us."""

BANDWIDTH_NS = 20e6
"""Length of a bandwidth sample, ns: one thread moves about 200 MB, more than caches hold."""
WARM_UP_NS = 5e6

Key = tuple[BufferPlace, int, int, str, int]
"""Place, node, bytes, pages, and a number that separates equal buffers."""


@dataclass
class RealBench:
    """The CPUs and memories this process may use."""

    isa: str = ""
    """Instruction set of the sequential kernels; empty: each kernel's fastest."""
    name: str = field(default="", init=False)
    _fastest: FastestIsa = field(default_factory=FastestIsa, init=False)
    _held: dict[Key, _measure.Memory] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Refuse if the native module is not built or the instruction set is missing."""
        require_native()
        available = _measure.isas()
        if self.isa and self.isa not in available:
            raise CommandError(
                f"this processor has no {self.isa}; it has {', '.join(available)}",
                ExitCode.MACHINE_LACKS,
            )

    @property
    def vector(self) -> str:
        """Instruction sets in use; those of bandwidths are known once they were measured."""
        return (
            self.isa
            or ", ".join(sorted(set(self._fastest.all_chosen().values())))
            or str(_measure.isas()[0])
        )

    @cached_property
    def ghz(self) -> float:
        """Nominal clock."""
        return local_machine.nominal_ghz()

    @cached_property
    def llc_bytes(self) -> int:
        """Last-level cache as one CPU sees it."""
        return topology.detect().llc_bytes

    def nodes(self) -> list[NodeFacts]:
        """Return the nodes with their free memory."""
        return local_machine.nodes()

    def one_per_core(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first CPU of each core."""
        return local_machine.one_per_core(cpus)

    def check(self, chase: Chase | None, workers: list[Worker]) -> list[str]:
        """Refuse buffers that do not fit; return notes on caches and folders."""
        self._keep_only(set(self._keys(chase, workers)))
        all_nodes = self.nodes()
        held = sum(memory.size_bytes for memory in self._held.values())
        if not held:
            local_machine.check_free_memory(
                chase, workers, all_nodes, room.available_bytes(), local_machine.app_direct_hint()
            )
        notes = local_machine.memory_mode_notes(chase, workers, all_nodes)
        folders: dict[Path, int] = {}
        for thread in (chase, *workers):
            if thread is not None and thread.place.folder is not None:
                folders.setdefault(thread.place.folder, 0)
                folders[thread.place.folder] += thread.size_bytes
        for folder, size in folders.items():
            notes += _folder(folder, 0 if held else size)
        return notes

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        """Map missing buffers, then sample."""
        keys = self._keys(chase, workers)
        memories = [self._memory(key) for key in keys]
        native_workers = [
            self._native(worker, memory)
            for worker, memory in zip(workers, memories[bool(chase) :], strict=True)
        ]
        if chase is None:
            samples = repeat(
                lambda: _measure.together(native_workers, BANDWIDTH_NS, WARM_UP_NS), effort
            )
            return Values([], _by_worker([sample.each for sample in samples], len(workers)))
        shape = _measure.Shape(
            stride_bytes=chase.stride_bytes if chase.stride_bytes > 64 else 0,
            window_bytes=chase.window_bytes,
        )
        timed = _measure.Worker(
            chase.cpu,
            "chase-sequential" if chase.sequential else "chase",
            memories[0],
            shape=shape,
        )
        beside = native_workers or self._spin(chase.cpu)
        warm_up = warm_up_accesses(chase.size_bytes, self.llc_bytes)
        timings = repeat(
            lambda: _measure.time_alone(timed, TIMED_ACCESSES, warm_up, MIN_CHASE_NS, beside),
            effort,
        )
        ns = [sample.ns for sample in timings]
        drawn = _by_worker([sample.beside for sample in timings], len(workers)) if workers else []
        return Values(ns, drawn)

    def core_to_core(self) -> list[HandOff]:
        """Time a line between every two cores, on memory of the first one's node."""
        all_nodes = self.nodes()
        cpus = self.one_per_core(tuple(sorted(cpu for node in all_nodes for cpu in node.cpus)))
        if len(cpus) < 2:
            raise NearfarError(
                "a line passes between 2 cores; this process may use 1: allow it more CPUs "
                "(taskset, the container)",
                ExitCode.MACHINE_LACKS,
            )
        pairs = []
        for at, cpu in enumerate(cpus):
            memory = self._memory(
                (
                    BufferPlace(),
                    local_machine.home_node(BufferPlace(), cpu, all_nodes),
                    4096,
                    "4k",
                    0,
                )
            )
            for other in cpus[at + 1 :]:
                samples = [_measure.core_to_core(cpu, other, memory) for _ in range(MIN_SAMPLES)]
                pairs.append(
                    HandOff(
                        cpu,
                        other,
                        [sample.modified_ns for sample in samples],
                        [sample.clean_ns for sample in samples],
                    )
                )
        return pairs

    def block(self, node: int, size_bytes: int) -> _measure.Memory:
        """Map memory of a node that the caller keeps."""
        return self._map(BufferPlace(node), node, size_bytes, local_machine.default_pages())

    def isa_of(self, kernel: str, cpu: int, memory: _measure.Memory) -> str:
        """Return the requested instruction set, or the kernel's fastest, tried in `memory`."""
        return self.isa or self._fastest.of_kernel(kernel, cpu, memory)

    def _native(self, worker: Worker, memory: _measure.Memory) -> _measure.Worker:
        shape = _measure.Shape(
            stride_bytes=worker.stride_bytes if worker.stride_bytes > 64 else 0,
            window_bytes=worker.window_bytes,
            read_share=1.0 if worker.read_share is None else worker.read_share,
        )
        return _measure.Worker(
            worker.cpu,
            worker.kernel,
            memory,
            shape=shape,
            pause_ns=worker.pause_ns,
            isa=self.isa_of(worker.kernel, worker.cpu, memory),
        )

    def _spin(self, cpu: int) -> list[_measure.Worker]:
        """Return a co-runner that keeps another core awake: an idle core makes clocks change."""
        cpus = [each for node in self.nodes() for each in node.cpus]
        others = self.one_per_core(tuple(sorted(cpus)))
        return [_measure.Worker(others[-1])] if len(others) > 1 and others[-1] != cpu else []

    def _keys(self, chase: Chase | None, workers: list[Worker]) -> list[Key]:
        """Return a key per thread, the chase first; workers that share a buffer share a key."""
        all_nodes = self.nodes()
        keys: list[Key] = []
        for thread in (chase, *workers):
            if thread is None:
                continue
            node = -1 if thread.place.folder else local_machine.node_of_buffer(thread, all_nodes)
            pages = local_machine.default_pages() if thread.pages == "default" else thread.pages
            count = 0
            shared = isinstance(thread, Worker) and thread.shared
            while not shared and (thread.place, node, thread.size_bytes, pages, count) in keys:
                count += 1
            keys.append((thread.place, node, thread.size_bytes, pages, count))
        return keys

    def _keep_only(self, keys: set[Key]) -> None:
        """Free the buffers that the next measurement does not use."""
        for key in [key for key in self._held if key not in keys]:
            del self._held[key]

    def _memory(self, key: Key) -> _measure.Memory:
        if key not in self._held:
            place, node, size, pages, _ = key
            self._held[key] = self._map(place, node, size, pages)
        return self._held[key]

    def _map(self, place: BufferPlace, node: int, size_bytes: int, pages: str) -> _measure.Memory:
        kind = cast("Pages", pages)
        if place.folder is not None:
            spec = MemorySpec("file", path=place.folder)
        elif local_machine.has_numa():
            spec = MemorySpec("node", node=node, pages=kind)
        else:
            spec = MemorySpec("dram", pages=kind)
        page = 4096 if pages == "thp" else PAGE_BYTES[kind]
        whole = -(-size_bytes // page) * page
        if place.folder is None and pages in ("2m", "1g"):
            free = checks.free_huge_pages(page) or 0
            if free < whole // page:
                option = "-L" if pages == "2m" else "-h"
                raise NearfarError(
                    f"{option}: a buffer takes {whole // page} reserved pages of "
                    f"{format_bytes(page)}, and {free} are free: reserve them "
                    f"(/sys/kernel/mm/hugepages/hugepages-{page >> 10}kB/nr_hugepages), or leave "
                    f"out {option}",
                    ExitCode.MACHINE_LACKS,
                )
        return obtain.source_of(spec, topology.detect())(whole, kind)


def _folder(folder: Path, size_bytes: int) -> list[str]:
    """Refuse a folder without space for `size_bytes`; note if it is not persistent memory."""
    checks.check_folder(folder, 0)
    if not folder.is_dir():
        raise CommandError(f"{folder} is no folder: name where persistent memory is mounted")
    free = obtain.file_system_bytes(folder)[1]
    if size_bytes > free:
        raise NearfarError(
            f"{folder} has {format_bytes(free)} free, and buffers take {format_bytes(size_bytes)}: "
            f"use -b{free >> 20}m or less, or free some space",
            ExitCode.MACHINE_LACKS,
        )
    if obtain.is_direct(MemorySpec("file", path=folder)):
        return []
    return [
        f"{folder} is not on a DAX file system: what is measured is its page cache, which is DRAM "
        "(mount persistent memory with -o dax)"
    ]


def _by_worker(samples: list[list[_measure.WorkerTraffic]], count: int) -> list[list[float]]:
    """Return the bandwidths of the samples, GB/s, one list per worker."""
    return [[each[worker].gb_per_s for each in samples] for worker in range(count)]
