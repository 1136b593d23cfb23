"""Inference on made-up samples of plain DRAM behind caches, on a shared machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nearfar.measure.infer import infer
from nearfar.measure.infer.findings import Findings
from nearfar.measure.infer.probe import MAX_TRIES, InferenceProbe
from nearfar.measure.infer.resample import median_noise, point_noise
from nearfar.measure.infer.writes import infer_writes
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import Sample, SamplePoint

CACHES = ((32 << 10, 1.1), (1 << 20, 4.0), (8 << 20, 14.0))
"""(capacity, ns) as an AMD EPYC (family 25) showed in one of its virtual machines."""

DRAM_NS = 130.0


class SharedDram:
    """Simulates plain DRAM: cache hits are steady, memory is slowed by neighbours.

    A neighbour may be active for many samples in a row.
    """

    def __init__(self, seed: int, single_writes: bool = True) -> None:
        self.single_writes = single_writes
        self._rng = np.random.default_rng(seed)
        self._load = 0.0

    def facts(self) -> SubjectFacts:
        return SubjectFacts(
            page_sizes=(2 << 20, 4096),
            largest_bytes=256 << 20,
            buffer_bytes=256 << 20,
            threads=2,
            kernels=frozenset({"chase", "persist-nt-store", "nt-store-strided", "overwrite"}),
            llc_bytes=32 << 20,
            timer_overhead_ns=20.0,
            timer_resolution_ns=10.0,
        )

    def sample(self, point: SamplePoint) -> Sample:
        # A neighbour comes for about thirty samples and makes the memory up to half slower.
        if self._rng.random() < 0.03:
            self._load = self._rng.random() * 0.5 * (self._rng.random() < 0.5)
        if point.kernel == "chase":
            return self._chase(point)
        slower = (1 + self._load) * np.exp(0.04 * self._rng.standard_normal())
        if point.kernel == "overwrite":
            return self._overwrite(point)
        if point.threads > 1:
            return Sample(20.0 / slower)
        if point.rest_ns > 0:
            return Sample((70.0 + 2.9 * point.access_bytes / 64) * slower)
        if point.fence_every == 1:
            return Sample(98.0 * slower, disturbed=not self.single_writes)
        # Sequential lines overlap in the processor; regions that are no power of two take a few
        # more steps for the order of accesses.
        steps = 2 ** np.ceil(np.log2(point.region_bytes)) / point.region_bytes
        return Sample((0.9 + 2.0 * steps) * slower)

    def _chase(self, point: SamplePoint) -> Sample:
        mean_ns, served = 0.0, 0.0
        for capacity, ns in CACHES:
            share = min(capacity / point.region_bytes, 1.0)
            mean_ns += (share - served) * ns
            served = share
        beyond = 1 - served
        own = 0.002 + 0.04 * beyond
        mean_ns += beyond * DRAM_NS * (1 + self._load)
        return Sample(mean_ns * np.exp(own * self._rng.standard_normal()))

    def _overwrite(self, point: SamplePoint) -> Sample:
        times = 98.0 * np.exp(0.02 * self._rng.standard_normal(point.accesses))
        # Another program takes the core for some milliseconds at random times.
        hits = self._rng.integers(0, point.accesses, 12)
        times[hits] += self._rng.uniform(1e6, 4e6, 12)
        return Sample(98.0, each_ns=times.astype(np.float32), disturbed=True)


@pytest.mark.parametrize("seed", range(2))
def test_caches_are_found_and_nothing_is_invented(seed):
    inference = infer(SharedDram(seed), 60.0, lambda _what, _share: None)
    sizes = [each.capacity_bytes for each in inference.buffers]
    assert [each.name for each in inference.buffers] == ["L1", "L2", "L3"]
    for size, (capacity, _) in zip(sizes, CACHES, strict=True):
        assert 0.7 <= size / capacity <= 1.4
    assert not (inference.write_queues or inference.interleaves or inference.stalls)
    assert {"buffers", "write buffers", "write queue", "interleave", "stalls"} <= set(
        inference.not_seen
    )


def test_without_a_single_writes_time_no_write_buffer_is_reported():
    class Slow(SharedDram):
        """Makes lines beyond 256 KiB slow: a buffer, if a single write shows it."""

        def sample(self, point: SamplePoint) -> Sample:
            sample = super().sample(point)
            if point.kernel.startswith("persist") and point.fence_every > 1:
                slow = 90.0 if point.region_bytes > 256 << 10 else 30.0
                return replace(sample, value=sample.value / 2.9 * slow)
            return sample

    told, untold = Findings(), Findings()
    infer_writes(InferenceProbe(Slow(1), 60.0, 6), [], told)
    infer_writes(InferenceProbe(Slow(1, single_writes=False), 60.0, 6), [], untold)
    assert [each.name for each in told.buffers] == ["write buffer 1"]
    assert not untold.buffers
    assert "single writes" in untold.not_seen["write buffers"]


def test_points_with_more_scatter_have_less_weight():
    rng = np.random.default_rng(1)
    steady = [100 * np.exp(0.002 * rng.standard_normal(12)) for _ in range(20)]
    wild = [100 * np.exp(0.1 * rng.standard_normal(12)) for _ in range(5)]
    noise = point_noise([*steady, *wild])
    assert (noise >= median_noise([*steady, *wild])).all()
    assert noise[20:].min() > 3 * noise[:20].max()


def test_a_calm_sample_is_sought_a_few_times():
    subject = SharedDram(1)
    probe = InferenceProbe(subject, 60.0, 6)
    calm = SamplePoint("latency", "chase", 4096, 1 << 20)
    assert not probe.calm(calm).disturbed
    assert len(probe.taken[calm]) == 1
    never = SamplePoint("overwrite", "overwrite", 4096, 256, each=True, accesses=100)
    assert probe.calm(never).disturbed
    assert len(probe.taken[never]) == MAX_TRIES
