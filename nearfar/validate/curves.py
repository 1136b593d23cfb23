"""Device curves of near and far memory, sampled between the kernels' runs.

From minute to minute, medians on one machine change by 6 % (idle) to 14 % (under load). So a kernel
is predicted from the samples nearest in time, and only from samples of the core pairing in which it
was timed (see `core_pairing`).

If far data have smaller pages than near data, far chains are also sampled over near's pages: the
difference between both curves is page walks. A program may walk less often than a chase, and for a
shorter time. Chases over smaller regions measure the walks to pages whose last touch is more
recent. Hits return to their pages sooner than misses do, and their lines are in a cache: chases
over one line of each page measure their walks. Bandwidths are also sampled over both pages: one
stream of reads waits at the end of each page while several streams continue, and a line that is
written back needs no walk, unlike the store that measures write-backs. A copy measures several
streams.

Kernels and programs are built as Debian builds its packages. So bandwidths use the instructions of
all processors of the architecture: next to a core that loads memory, a core that reads 64 bytes at
a time gets less bandwidth than with 16 bytes. Non-temporal stores have the processor's full width:
they measure write-backs of whole lines, and a line stored in parts may leave in parts.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from nearfar.base.units import LINE_BYTES
from nearfar.contention.co_runner import CoRunner, working
from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import MeasuredContext, Source
from nearfar.measure import figures
from nearfar.measure.environment import fixed_facts
from nearfar.measure.figures import effective_llc_bytes
from nearfar.measure.native import _measure
from nearfar.measure.open_subject import open_memory
from nearfar.measure.sampler import Sampler
from nearfar.measure.subject import OpenedMemory, Subject
from nearfar.measure.surfaces import SURFACES, SurfaceFigures, SurfacePlan
from nearfar.measure.surfaces._surface import SOURCE
from nearfar.memories.spec import PAGE_BYTES, MemorySpec
from nearfar.options.measure import MemoryOptions
from nearfar.samples.point import Sample, SamplePoint
from nearfar.validate.core_pairing import CorePairings

MAX_SAMPLES = 7
"""Number of latest samples of a point whose median counts: about half a minute on stable cores."""

MIN_SAMPLES = 2
"""Samples of each point that a pairing's profile needs."""

MAX_TRIES = 8
"""Tries to sample a missing point while other work spoils its samples."""

STALL_RATIO = 3.0
"""Fastest sample of a bandwidth, in any pairing, over a sample during which memory stalled:
pairings differ by a factor of 2 only. In the first minute of some sessions, a core read 2 to 6 GB/s
from memory that gave 30 GB/s before and after, and wrote 25 GB/s; the reason is not known."""

SAMPLED_SURFACES = ("idle", "chains", "bandwidth")
"""The surfaces that models read."""

CHAINS = (1, 2, 4, 8, 16, 32)
"""Sampled numbers of chains: between them, costs are straight on logarithmic scales within 3 %."""

REGION_DIVISORS = (16, 8, 4, 2)
"""Further chases cover the region divided by these: walks over less data are shorter, and the end
of one core's share of the last-level cache may lie there."""

PAGE_STRIDE_BYTES = PAGE_BYTES["4k"] + LINE_BYTES
"""Distance of the lines of a chase over pages: each in the next page, and in the next set of a
cache."""

BASE_ISA = "sse2"
"""The instructions of x86-64 that compilers use by default."""

WHOLE_LINE_KERNELS = ("nt-store", "nt-store-random")
"""Kernels that stand for write-backs."""

LATENCY_KERNELS = ("chase", "chase-sequential")
"""Kernels of sampled latencies: the sequential chase shows whether a prefetcher helps."""

BANDWIDTH_KERNELS = ("read", "read-random", "copy", "write", "write-random", *WHOLE_LINE_KERNELS)


@dataclass
class MemoryCurves:
    """Samples of one memory's curves, by core pairing."""

    opened: OpenedMemory
    plan: SurfacePlan
    spec: MemorySpec
    points: dict[str, list[SamplePoint]]
    """Points by surface."""
    pairings: CorePairings
    co_runner: CoRunner | None = None
    """The process that runs on another core while samples are taken, as while kernels run."""
    large: MemoryCurves | None = None
    """Curves of this memory over near's larger pages."""
    _samples: dict[int, dict[SamplePoint, deque[Sample]]] = field(default_factory=dict)

    @staticmethod
    def open(
        spec: MemorySpec,
        region_bytes: int,
        pairings: CorePairings,
        surfaces: Iterable[str] = SAMPLED_SURFACES,
        *,
        alone: bool = False,
    ) -> MemoryCurves:
        """Allocate the memory, with a largest region of `region_bytes`.

        If the spec has a load (then `co_runner` must be set to it) or with `alone`, one thread is
        measured, by its CPU time as for the kernels.
        """
        options = MemoryOptions(
            memory=str(replace(spec, load="none")),
            threads=1 if spec.load != "none" or alone else None,
            largest=f"{region_bytes}B",
        )
        opened = open_memory(options, quick=True)
        plan = SurfacePlan(opened.subject.facts(), quick=True)
        points = {
            name: [point for point in SURFACES.get(name).points(plan) if _is_sampled(point)]
            for name in surfaces
        }
        if "idle" in points:
            points["idle"] = _around_cache_ends(points["idle"], opened)
            points["idle"] += _first_beyond(opened.inner_bytes, points["idle"])
            points["idle"] += _parts_of_largest(points["idle"])
        return MemoryCurves(opened, plan, spec, points, pairings)

    @staticmethod
    def open_far(
        spec: MemorySpec, near: MemorySpec, region_bytes: int, pairings: CorePairings
    ) -> MemoryCurves:
        """Allocate far memory; if its pages are smaller than near's, also with near's pages."""
        far = MemoryCurves.open(spec, region_bytes, pairings)
        if spec.pages == "4k" and near.pages not in (None, "4k"):
            far.large = MemoryCurves.open(replace(spec, pages=near.pages), region_bytes, pairings)
            chases = _random_chases(far.large.points["idle"])
            largest = max(chases, key=lambda point: point.region_bytes)
            far.large.points["idle"] = [largest, *_parts_of_largest([largest])]
            for curves in far._all():
                curves.points["idle"] += _page_chases(curves.points["idle"])
        return far

    def set_co_runner(self, co_runner: CoRunner | None) -> None:
        """Sample while `co_runner` runs."""
        for curves in self._all():
            curves.co_runner = co_runner

    def sample_round(self) -> None:
        """Sample every point once; takes about a second."""
        self.sample_share(1, 1)

    def sample_share(self, number: int, count: int) -> None:
        """Sample the `number`th (from 1) of `count` parts of a round."""
        every = [
            (curves, point)
            for curves in self._all()
            for points in curves.points.values()
            for point in points
        ]
        for curves, point in every[
            (number - 1) * len(every) // count : number * len(every) // count
        ]:
            curves._sample(point)

    def sample_missing(self, pairing: int) -> bool:
        """Sample the points with too few samples in a pairing; False: the cores moved."""
        for curves in self._all():
            for point in curves._missing(pairing):
                for _ in range(MAX_TRIES):
                    if len(curves._of(pairing)[point]) >= MIN_SAMPLES:
                        break
                    seen = curves._sample(point, pairing)
                    # None: other work disturbed the probe, so it is not known whether cores moved.
                    if (self.pairings.probe_patiently() if seen is None else seen) != pairing:
                        return False
        return True

    def seen_pairings(self) -> list[int]:
        """Return the pairings that have samples."""
        return list(self._samples)

    def count(self, pairing: int) -> int:
        """Return how many samples of a pairing are kept."""
        return sum(map(len, self._of(pairing).values()))

    def is_complete(self, pairing: int) -> bool:
        """Return whether every point was sampled in a pairing."""
        return not any(curves._missing(pairing) for curves in self._all())

    def complete(self, pairing: int) -> bool:
        """Sample the points missing in a pairing if possible; return whether it is complete."""
        return self.is_complete(pairing) or (
            self.sample_missing(pairing) and self.is_complete(pairing)
        )

    def forget(self) -> None:
        """Drop all samples."""
        for curves in self._all():
            curves._samples.clear()

    def _all(self) -> list[MemoryCurves]:
        return [self] if self.large is None else [self, self.large]

    def _sample(self, point: SamplePoint, required: int | None = None) -> int | None:
        sample, pairing = self.pairings.during(lambda: self._take(point), required)
        if pairing is not None:
            self._of(pairing)[point].append(sample)
        return pairing

    def _take(self, point: SamplePoint) -> Sample:
        _use_isa(self.opened.subject, "" if point.kernel in WHOLE_LINE_KERNELS else BASE_ISA)
        with working(self.co_runner):
            return self.opened.subject.sample(point)

    def _of(self, pairing: int) -> dict[SamplePoint, deque[Sample]]:
        return self._samples.setdefault(pairing, defaultdict(lambda: deque(maxlen=MAX_SAMPLES)))

    def _missing(self, pairing: int) -> list[SamplePoint]:
        samples = self._of(pairing)
        return [
            point
            for points in self.points.values()
            for point in points
            if len(samples[point]) < MIN_SAMPLES
        ]

    def samples(self, pairing: int) -> dict[SamplePoint, list[Sample]]:
        """Return the kept samples of a pairing, of all points that have any."""
        by_point = self._of(pairing)
        every = [point for points in self.points.values() for point in points]
        samples = {point: list(by_point[point]) for point in every if by_point[point]}
        for point in self.points.get("bandwidth", []):
            if point in samples:
                samples[point] = self._without_stalls(point, samples[point])
        return samples

    def _without_stalls(self, point: SamplePoint, samples: list[Sample]) -> list[Sample]:
        """Return the samples of a bandwidth during which memory did not stall, else all samples."""
        every = [s.value for by_point in self._samples.values() for s in by_point.get(point, ())]
        return [s for s in samples if s.value * STALL_RATIO > max(every)] or samples

    def llc_bytes(self, pairing: int) -> int | None:
        """Return one core's part of the last-level cache; None: the curves do not show it."""
        return effective_llc_bytes(
            figures.random_latency_ns(self.samples(pairing)),
            self.opened.inner_bytes,
            self.opened.llc_bytes,
        )

    def device(self, name: str, pairing: int) -> DeviceProfile:
        """Return the profile of one pairing's samples."""
        opened, parts = self.opened, self._parts(pairing)
        if self.large is not None:
            large = self.large._parts(pairing)
            parts.chains += large.chains
            parts.bandwidth += large.bandwidth
            # The latency without a region is that of the memory: it must have the far data's pages.
            parts.latency += [value for value in large.latency if value.region_bytes is not None]
        return DeviceProfile(
            producer=producer(),
            name=name,
            title=f"{opened.what}, measured by nearfar validate",
            technology=opened.technology,
            capacity_bytes=opened.capacity_bytes,
            durable=opened.durable,
            persists_through=opened.persists_through,
            sources={SOURCE: Source(citation="measured by nearfar validate on this machine")},
            latency=parts.latency,
            bandwidth=parts.bandwidth,
            chains=parts.chains,
            measured=self._context(pairing),
        )

    def _context(self, pairing: int) -> MeasuredContext:
        samples, opened = self.samples(pairing), self.opened
        return MeasuredContext(
            memory_spec=str(self.spec),
            repetitions=min(map(len, samples.values()), default=0),
            seconds=0.0,
            noise_floor=figures.noise_floor(samples),
            noise_floors=figures.noise_floors(samples),
            timer_resolution_ns=self.plan.facts.timer_resolution_ns,
            cpus=list(opened.cpus),
            llc_bytes=opened.llc_bytes,
            effective_llc_bytes=self.llc_bytes(pairing),
            environment=fixed_facts(opened.cpus[0]) if opened.cpus else {},
            ended="repetitions",
            warnings=list(opened.warnings),
        )

    def _parts(self, pairing: int) -> SurfaceFigures:
        samples, parts = self._joined(pairing), SurfaceFigures()
        for surface, points in self.points.items():
            sampled = {point: samples[point] for point in points if point in samples}
            if sampled:
                parts.add(SURFACES.get(surface).figures(sampled, self.plan))
        return parts

    def _joined(self, pairing: int) -> dict[SamplePoint, list[Sample]]:
        """Return the samples; one chain and a chase over the same region have both's samples."""
        samples = self.samples(pairing)
        joined = dict(samples)
        for chain in (point for point in self.points.get("chains", []) if point.chains == 1):
            for chase in _random_chases(self.points.get("idle", [])):
                same = chase.region_bytes == chain.region_bytes
                both = {chain, chase} <= joined.keys()
                if same and chase.page_bytes == chain.page_bytes and both:
                    joined[chain] = joined[chase] = [*samples[chain], *samples[chase]]
        return joined


def _use_isa(subject: Subject, isa: str) -> None:
    if isinstance(subject, Sampler) and isa != subject.isa and isa in ("", *_measure.isas()):
        subject.use_isa(isa)


def _around_cache_ends(points: list[SamplePoint], opened: OpenedMemory) -> list[SamplePoint]:
    """Return the points of the smallest and largest region, and of regions near caches' ends.

    Latencies of other regions follow from these, and chases over tens of MiB take most of a round.
    """
    if not points:
        return points
    regions = [point.region_bytes for point in points]
    largest = max(regions)
    kept = {min(regions), largest}
    kept |= {size for size in regions if opened.inner_bytes // 4 < size <= opened.llc_bytes // 2}
    return [
        point
        for point in points
        if point.region_bytes in (kept if point.kernel == "chase" else {largest})
    ]


def _random_chases(points: list[SamplePoint]) -> list[SamplePoint]:
    """Return the points that chase at random over all lines."""
    return [point for point in points if point.kernel == "chase" and not point.stride_bytes]


def _page_chases(points: list[SamplePoint]) -> list[SamplePoint]:
    """Return chases over one line of each small page, over the largest region and its parts.

    A cache holds the lines, so small pages take longer only by the walks that hits wait for.
    """
    chases = _random_chases(points)
    largest = max(chase.region_bytes for chase in chases)
    regions = {largest // divisor for divisor in (1, *REGION_DIVISORS)}
    return [
        replace(chase, stride_bytes=PAGE_STRIDE_BYTES)
        for chase in chases
        if chase.region_bytes in regions
    ]


def _first_beyond(inner_bytes: int, points: list[SamplePoint]) -> list[SamplePoint]:
    """Return a chase in the last-level cache that fits even a small share of the cache.

    The regions of a quick plan are so far apart that the first region beyond the inner caches may
    exceed the part of the last-level cache that neighbours leave. Without a smaller region, the
    whole cache would seem to belong to this core.
    """
    region_bytes = 3 * inner_bytes
    chases = [point for point in _random_chases(points) if point.region_bytes > region_bytes]
    if not inner_bytes or not chases:
        return []
    smallest = min(chases, key=lambda point: point.region_bytes)
    return [replace(smallest, region_bytes=region_bytes)]


def _parts_of_largest(points: list[SamplePoint]) -> list[SamplePoint]:
    """Return chases over parts of the largest region that are not among the points."""
    chases = _random_chases(points)
    if not chases:
        return []
    largest = max(chases, key=lambda point: point.region_bytes)
    present = {point.region_bytes for point in chases}
    return [
        replace(largest, region_bytes=largest.region_bytes // divisor)
        for divisor in REGION_DIVISORS
        if largest.region_bytes // divisor not in present
    ]


def _is_sampled(point: SamplePoint) -> bool:
    if point.figure == "latency":
        return point.kernel in LATENCY_KERNELS and not point.stride_bytes
    if point.figure == "bandwidth":
        return point.kernel in BANDWIDTH_KERNELS and point.access_bytes == LINE_BYTES
    if point.figure == "chains":
        return point.chains in CHAINS
    return True
