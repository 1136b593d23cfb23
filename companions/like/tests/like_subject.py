"""A subject of known values: a 16 MiB buffer of 256-byte blocks before a slow medium."""

from __future__ import annotations

import numpy as np

from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import Sample, SamplePoint

BUFFER_BYTES = 16 << 20
NEAR_NS, FAR_NS = 100.0, 300.0
ONE_THREAD = {"read": 4.0, "nt-store": 2.0, "write": 1.0, "mixed-nt": 3.0, "mixed": 2.5,
              "stream-copy": 1.6, "stream-scale": 1.6, "stream-add": 2.4, "stream-triad": 2.4,
              "stream-sum": 4.0}  # fmt: skip
THREADS = 4
STALL_EVERY = 1000


class KnownSubject:
    """Computes every point by a formula."""

    def __init__(self, without: tuple[str, ...] = ()) -> None:
        self.seen: list[SamplePoint] = []
        names = set(ONE_THREAD) | {"chase", "chase-sequential", "overwrite", "persist-nt-store"}
        names |= {f"{kernel}{order}" for kernel in ONE_THREAD for order in ("-random", "-strided")}
        names |= {"persist-nt-store-sequential", "persist-clwb-sequential"}
        self._kernels = frozenset(names - set(without))

    def facts(self) -> SubjectFacts:
        return SubjectFacts(
            (2 << 20, 4096), 256 << 20, 64 << 20, THREADS, self._kernels, 1 << 20, 10, 1
        )

    def sample(self, point: SamplePoint) -> Sample:
        if point.kernel not in self._kernels:
            raise ValueError(point.kernel)
        self.seen.append(point)
        if point.kernel == "overwrite":
            each = np.full(point.accesses, 90.0, dtype=np.float32)
            each[STALL_EVERY - 1 :: STALL_EVERY] = 50e3
            return Sample(90.0, each_ns=each)
        if point.kernel.startswith("persist"):
            return Sample(50.0 + point.access_bytes)
        if point.kernel.startswith("chase"):
            return self._chase(point)
        kind = point.kernel.removesuffix("-random").removesuffix("-strided")
        # 64 random blocks of 256 bytes use a quarter of the fetched bytes.
        used = min(point.access_bytes / 256, 1) if point.kernel.endswith("-random") else 1
        return Sample(ONE_THREAD[kind] * point.threads * used)

    @staticmethod
    def _chase(point: SamplePoint) -> Sample:
        beyond = max(1 - BUFFER_BYTES / point.region_bytes, 0.0)
        missed = 64 / min(max(point.access_bytes, 64), 256)
        ns = NEAR_NS + (FAR_NS - NEAR_NS) * beyond * missed
        drawn = 0.0
        if point.pause_ns is not None:
            rest = point.pause_ns / 2048
            drawn = (point.threads - 1) / (1 / ONE_THREAD[point.generator] + rest)
            ns += 10 * drawn
        return Sample(ns, drawn + 64 / ns)
