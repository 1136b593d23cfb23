"""Latency and bandwidth between all nodes, and hand-over times between CPUs."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.statistics import median_estimate
from nearfar.base.units import format_bytes, format_count
from nearfar.documents.machine import CoreToCore, MatrixEntry, Node
from nearfar.measure import room
from nearfar.measure.competing import DURATION_NS, WARM_UP_NS
from nearfar.measure.fastest_isa import FastestIsa
from nearfar.measure.native import _measure
from nearfar.measure.obtain import source_of
from nearfar.measure.sampler import TIMED_ACCESSES
from nearfar.measure.warm_up import WARM_UP_ACCESSES
from nearfar.memories import topology
from nearfar.memories.spec import MemorySpec

if TYPE_CHECKING:
    from nearfar._measure import Memory


MAX_PAIRS = 300
"""Pairs measured at most: all of 25 CPUs, else a random sample; 9 rounds of 10 ms, 30 s."""

ROUNDS = 9

LINES_BYTES = 2 << 20
"""Size of the memory whose lines are handed over: one huge page, without TLB misses."""

HandOver = Callable[[int, int], float]
"""Function from two CPUs to ns one way."""


def chosen_pairs(cpus: Sequence[int]) -> list[tuple[int, int]]:
    """Return all pairs of `cpus`, or `MAX_PAIRS` of them.

    A sample keeps neighbours in number: they share a core or a cache, and a random sample of a
    large machine would have few such pairs.
    """
    every = list(itertools.combinations(sorted(cpus), 2))
    if len(every) <= MAX_PAIRS:
        return every
    near = list(itertools.pairwise(sorted(cpus)))[:MAX_PAIRS]
    kept = set(near)
    rest = [pair for pair in every if pair not in kept]
    return sorted([*near, *random.Random(1).sample(rest, MAX_PAIRS - len(near))])


def measure_core_to_core(
    cpus: Sequence[int],
    progress: Callable[[str, float], None] = lambda _what, _share: None,
    *,
    hand_over: HandOver | None = None,
    rounds: int = ROUNDS,
) -> tuple[list[CoreToCore], list[str]]:
    """Return the time of a line between the CPUs of each pair, and warnings."""
    pairs = chosen_pairs(cpus)
    if not pairs:
        return [], ["core-to-core was not measured: this process may use 1 CPU; 2 are needed"]
    hand_over = hand_over or _native()
    times: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    dice = random.Random(1)
    for number in range(rounds):
        for index, pair in enumerate(dice.sample(pairs, len(pairs))):
            times[pair].append(hand_over(*pair))
            done = (number + (index + 1) / len(pairs)) / rounds
            progress(f"core to core, {format_count(len(pairs), 'pair')}", done)
    warnings = []
    every = len(cpus) * (len(cpus) - 1) // 2
    if len(pairs) < every:
        warnings.append(
            f"core-to-core: {len(pairs)} of {every} pairs were measured, chosen at random"
        )
    entries = []
    for (cpu, other_cpu), values in times.items():
        estimate = median_estimate(values)
        entries.append(
            CoreToCore(
                cpu=cpu,
                other_cpu=other_cpu,
                value_ns=estimate.value,
                low_ns=estimate.low,
                high_ns=estimate.high,
            )
        )
    return entries, warnings


def _native() -> HandOver:
    memory = _measure.Memory.anonymous(LINES_BYTES, "thp", None)
    return lambda cpu, other_cpu: float(_measure.core_to_core(cpu, other_cpu, memory).line_ns)


Progress = Callable[[str, float], None]


class Prober(Protocol):
    """Measurement of one memory from the CPUs of several nodes."""

    def latency_ns(self, cpus: Sequence[int]) -> float:
        """Return ns of a random chase by the first of `cpus`."""

    def read_gb_per_s(self, cpus: Sequence[int]) -> float:
        """Return GB/s that all `cpus` read together."""


@dataclass(frozen=True)
class NodePair:
    """CPUs of one node, and a memory of another or the same."""

    cpu_node: int
    cpus: tuple[int, ...]
    memory_node: int


def pairs(nodes: Sequence[Node], allowed: set[int], root: Path = Path("/")) -> list[NodePair]:
    """Return all pairs, by memory; `allowed`: CPUs this process may use."""
    with_cpus = [
        (node.id, topology.detect(root, allowed & set(node.cpus)).cpus)
        for node in nodes
        if allowed & set(node.cpus)
    ]
    return [
        NodePair(cpu_node, cpus, memory.id)
        for memory in nodes
        if memory.memory_bytes
        for cpu_node, cpus in with_cpus
    ]


def measure_matrix(
    nodes: Sequence[Node],
    progress: Progress = lambda _what, _share: None,
    *,
    prober: Callable[[int], Prober] | None = None,
    rounds: int = ROUNDS,
) -> tuple[list[MatrixEntry], list[str]]:
    """Return an entry for every pair of nodes, and warnings about those left out.

    One node's memory at a time is mapped; each round measures it once from the CPUs of every node.
    `prober` makes the prober of a node's memory (default: `RealProber`).
    """
    machine = topology.detect()
    make = prober or (lambda node: RealProber(node, machine))
    wanted = pairs(nodes, os.sched_getaffinity(0))
    by_memory: dict[int, list[NodePair]] = {}
    for pair in wanted:
        by_memory.setdefault(pair.memory_node, []).append(pair)
    entries: list[MatrixEntry] = []
    warnings: list[str] = []
    for done, (memory_node, of_node) in enumerate(by_memory.items()):
        what = f"nodes {done + 1} of {len(by_memory)}: memory of node {memory_node}"
        progress(what, done / len(by_memory))
        try:
            probe = make(memory_node)
        except NearfarError as error:
            warnings.append(f"memory of node {memory_node} was not measured: {error}")
            continue
        ns: dict[NodePair, list[float]] = {pair: [] for pair in of_node}
        rates: dict[NodePair, list[float]] = {pair: [] for pair in of_node}
        for number in range(rounds):
            for pair in of_node:
                ns[pair].append(probe.latency_ns(pair.cpus))
                rates[pair].append(probe.read_gb_per_s(pair.cpus))
            progress(what, (done + (number + 1) / rounds) / len(by_memory))
        entries += _entries(ns, rates)
    return sorted(entries, key=lambda entry: (entry.cpu_node, entry.memory_node)), warnings


def _entries(
    ns: dict[NodePair, list[float]], rates: dict[NodePair, list[float]]
) -> Iterator[MatrixEntry]:
    for pair, values in ns.items():
        latency, rate = median_estimate(values), median_estimate(rates[pair])
        yield MatrixEntry(
            cpu_node=pair.cpu_node,
            memory_node=pair.memory_node,
            latency_ns=latency.value,
            latency_low_ns=latency.low,
            latency_high_ns=latency.high,
            read_gb_per_s=rate.value,
            read_low_gb_per_s=rate.low,
            read_high_gb_per_s=rate.high,
        )


class RealProber:
    """Prober of one node's memory; holds it while it exists, and chases and reads all of it."""

    def __init__(self, node: int, machine: topology.Topology) -> None:
        """Map memory of `node`: eight times the last-level cache, less where memory is short."""
        wanted = max(
            room.CACHES_PER_REGION * machine.llc_bytes,
            room.CACHES_PER_REGION // 2 * machine.total_llc_bytes,
        )
        available = room.available_bytes()
        if node in machine.nodes:
            free = topology.node_memory_bytes(node)[1]
            # Memory without CPUs need not count as available to the rest of the system.
            available = min(available, free) if topology.node_cpus(node) else free
        size = min(wanted, int(available * room.USABLE_SHARE)) // (2 << 20) * (2 << 20)
        if size < room.MIN_REGION_BYTES:
            raise NearfarError(
                f"only {format_bytes(available)} are free on node {node}", ExitCode.MACHINE_LACKS
            )
        spec = MemorySpec("node", node=node) if node in machine.nodes else MemorySpec("dram")
        self._memory: Memory = source_of(spec, machine)(size, "thp")
        self._fastest = FastestIsa()

    def latency_ns(self, cpus: Sequence[int]) -> float:
        """Return ns of a random chase by the first of `cpus`; another spins to stay awake."""
        beside = [_measure.Worker(cpus[-1])] if len(cpus) > 1 else []
        worker = _measure.Worker(cpus[0], "chase", memory=self._memory)
        timing = _measure.time_alone(worker, TIMED_ACCESSES, WARM_UP_ACCESSES, beside=beside)
        return float(timing.ns)

    def read_gb_per_s(self, cpus: Sequence[int]) -> float:
        """Return GB/s that all `cpus` read together, each its own part."""
        isa = self._fastest.of_kernel("read", cpus[0], self._memory)
        workers = [
            _measure.Worker(cpu, "read", memory=self._memory, part=part, parts=len(cpus), isa=isa)
            for part, cpu in enumerate(cpus)
        ]
        drawn = _measure.together(workers, DURATION_NS, WARM_UP_NS)
        return float(sum(worker.gb_per_s for worker in drawn.each))
