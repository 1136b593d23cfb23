"""A bench of known values: two nodes with CPUs, one without."""

from __future__ import annotations

from dataclasses import dataclass, field

from nearfar_like.bench import BufferPlace, Chase, HandOff, NodeFacts, Values, Worker
from nearfar_like.repeat import MIN_SAMPLES, Effort

GIB = 1 << 30

LATENCY_NS = {
    (0, 0): 80.0,
    (0, 1): 130.0,
    (0, 2): 250.0,
    (1, 0): 131.0,
    (1, 1): 81.0,
    (1, 2): 290.0,
}
GB_PER_S = {0: 20.0, 1: 10.0, 2: 2.5}
"""One thread at full speed, by distance: own node, other node, node without CPUs."""


@dataclass
class KnownBench:
    """Implements nodes 0 (CPUs 0-3), 1 (CPUs 4-7), 2 (no CPUs); CPUs 2n and 2n+1 share a core."""

    name: str = ""
    ghz: float = 2.0
    vector: str = "avx512"
    llc_bytes: int = 16 << 20
    seen: list[tuple[Chase | None, list[Worker]]] = field(default_factory=list)

    def nodes(self) -> list[NodeFacts]:
        return [
            NodeFacts(0, (0, 1, 2, 3), 64 * GIB, 60 * GIB),
            NodeFacts(1, (4, 5, 6, 7), 64 * GIB, 60 * GIB),
            NodeFacts(2, (), 128 * GIB, 128 * GIB),
        ]

    def one_per_core(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(cpu for cpu in cpus if cpu % 2 == 0)

    def check(self, chase: Chase | None, workers: list[Worker]) -> list[str]:
        return []

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        self.seen.append((chase, workers))
        count = max(effort.samples or 0, MIN_SAMPLES)
        ns = []
        if chase is not None:
            at = chase.cpu // 4
            base = LATENCY_NS[at, self._node(chase.place, chase.cpu)]
            # Load adds 10 ns for every thread at full speed.
            base += sum(10.0 for worker in workers if worker.pause_ns == 0)
            ns = [base + step for step in (0.0, -0.2, 0.3, 0.0, 0.1)][:count]
        rates = []
        for worker in workers:
            node = self._node(worker.place, worker.cpu)
            full = GB_PER_S[2 if node == 2 else int(node != worker.cpu // 4)]
            rates.append([1 / (1 / full + worker.pause_ns / 2048)] * count)
        return Values(ns, rates)

    def core_to_core(self) -> list[HandOff]:
        pairs = [(0, 2, 50.0), (4, 6, 52.0), (0, 4, 110.0), (2, 6, 114.0)]
        return [HandOff(cpu, other, [ns] * 3, [ns - 10] * 3) for cpu, other, ns in pairs]

    @staticmethod
    def _node(place: BufferPlace, cpu: int) -> int:
        return cpu // 4 if place.node is None else place.node
