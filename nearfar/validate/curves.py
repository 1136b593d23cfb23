"""Device curves of near and far memory, sampled between the kernels' runs: both in one loop.

Medians of one machine move by 6 % (idle) to 14 % (contended) between minutes, so a kernel is
predicted from the samples of curves that were taken nearest to it in time, and only from those
taken while the cores were placed as they were when it was timed (see `placement`).

Where far data have smaller pages than near, far chains are sampled over near's pages too: what lies
between both curves is page walks, of which a program may have fewer than one for each miss, and
which take less where its data are less: chases over some smaller regions say how much. And so are
bandwidths: one stream of reads waits at the end of each page, where others go on, and a line that
is written back needs no walk, as the store that stands for it does. What several streams do is seen
in a copy.

Kernels and programs are built as Debian builds its packages, so bandwidths are of the instructions
that all processors of the architecture have: beside a contending core, one that loads 64 bytes at a
time gets less than one that loads 16. Non-temporal stores are as wide as there are: they stand for
write-backs, which are of whole lines, and a line stored in parts may leave in parts.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from nearfar.base.units import LINE_BYTES
from nearfar.contention.companion import Companion, working
from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import MeasuredContext, Source
from nearfar.measure import figures
from nearfar.measure.capacity import effective_llc_bytes
from nearfar.measure.environment import fixed_facts
from nearfar.measure.open_subject import open_memory
from nearfar.measure.opened import Opened
from nearfar.measure.sampler import Sampler
from nearfar.measure.settings import Settings
from nearfar.measure.spec import MemorySpec
from nearfar.measure.subject import Point, Sample, Subject
from nearfar.measure.surfaces import SURFACES, Parts, Plan
from nearfar.measure.surfaces._surface import SOURCE
from nearfar.validate.placement import Placement

KEPT = 7
"""Samples of a point that a profile is the median of: the latest of a placement, some half minute
of them where cores stay."""

MOST_TRIES = 8
"""Of a point that lacks, while other work spoils samples of it."""

FEWEST = 2
"""Samples of each point that a profile of a placement is made of."""

STALLED = 3.0
"""Times slower than the quickest sample of the same bandwidth, in whatever placement: placements
are a factor of two apart. In the first minute of some sessions a core read 2 to 6 GB/s from memory
that it read 30 from before and after, and wrote 25 to; why is not known."""

SURFACES_TAKEN = ("idle", "chains", "bandwidth")
"""What the models read."""

CHAINS = (1, 2, 4, 8, 16, 32)
"""Between them costs are straight on logarithmic scales within 3 %, and each takes its time."""

PARTS = (4, 2)
"""Parts of the region, beside the whole: over less data walks take less, and what one core gets of
a last-level cache may end there."""

BASE_ISA = "sse2"
"""Of x86-64, what compilers use unless told otherwise."""

WHOLE_LINES = ("nt-store", "nt-store-random")
"""Kernels that stand for write-backs."""

BANDWIDTH_KERNELS = ("read", "read-random", "write", "nt-store", "nt-store-random", "copy")


@dataclass
class Curves:
    """One memory's curves, as they are now."""

    opened: Opened
    plan: Plan
    spec: MemorySpec
    points: dict[str, list[Point]]
    """By surface."""
    placement: Placement
    beside: Companion | None = None
    """What contends while it is sampled: the very process that contends with the kernels."""
    large: Curves | None = None
    """The same memory over near's larger pages."""
    _kept: dict[int, dict[Point, deque[Sample]]] = field(default_factory=dict)
    """By placement."""
    _next: int = 0

    @staticmethod
    def open(
        spec: MemorySpec,
        region_bytes: int,
        placement: Placement,
        surfaces: Iterable[str] = SURFACES_TAKEN,
        *,
        alone: bool = False,
    ) -> Curves:
        """Take the memory, with a largest region of `region_bytes`.

        Where the spec has a load, `beside` must be set to it. One thread is measured then (and
        where it is `alone`, beside whatever `beside` is), alone in the sampler's eyes: it is timed
        by its CPU time, as the kernels are.
        """
        contended = spec.load != "none"
        settings = Settings(
            spec=replace(spec, load="none"),
            quick=True,
            threads=1 if contended or alone else None,
            largest_bytes=region_bytes,
        )
        opened = open_memory(settings)
        plan = Plan(opened.subject.facts(), quick=True)
        points = {
            name: [point for point in SURFACES.get(name).points(plan) if _wanted(point)]
            for name in surfaces
        }
        if "idle" in points:
            points["idle"] = _telling(points["idle"], opened)
            points["idle"] += _first_beyond(opened.inner_bytes, points["idle"])
            points["idle"] += _parts_of_largest(points["idle"])
        return Curves(opened, plan, spec, points, placement)

    @staticmethod
    def open_far(
        spec: MemorySpec, near: MemorySpec, region_bytes: int, placement: Placement
    ) -> Curves:
        """Take far memory, and where its pages are smaller than near's, some with near's too."""
        far = Curves.open(spec, region_bytes, placement)
        if spec.pages == "4k" and near.pages not in (None, "4k"):
            more = replace(spec, pages=near.pages)
            far.large = Curves.open(more, region_bytes, placement)
            whole = max(far.large.points["idle"], key=lambda one: one.region_bytes)
            far.large.points["idle"] = [whole, *_parts_of_largest([whole])]
        return far

    def contend_with(self, beside: Companion | None) -> None:
        """Let it be sampled beside a contending core."""
        self.beside = beside
        if self.large is not None:
            self.large.beside = beside

    def sample_round(self) -> None:
        """Sample every point once; about a second of them."""
        self.sample_share(1, 1)

    def sample_share(self, number: int, of: int) -> None:
        """Sample the `number`th (from 1) of `of` parts of a round."""
        every = [(self, point) for one in self.points.values() for point in one]
        if self.large is not None:
            every += [(self.large, point) for one in self.large.points.values() for point in one]
        for curves, point in every[(number - 1) * len(every) // of : number * len(every) // of]:
            curves._sample(point)

    def sample_missing(self, placement: int) -> bool:
        """Sample what a placement has too little of, while the cores stay; say whether they do."""
        for curves in [self, *([self.large] if self.large is not None else [])]:
            for point in curves._lacking(placement):
                for _ in range(MOST_TRIES):
                    if len(curves._of(placement)[point]) >= FEWEST:
                        break
                    seen = curves._sample(point, placement)
                    # Not seen: other work hindered the look, and the cores may be where they were.
                    if (self.placement.patiently() if seen is None else seen) != placement:
                        return False
        return True

    def placements(self) -> list[int]:
        """Return the placements that were seen."""
        return list(self._kept)

    def count(self, placement: int) -> int:
        """Return how many samples are kept of a placement."""
        return sum(map(len, self._of(placement).values()))

    def complete(self, placement: int) -> bool:
        """Say whether every point was sampled in a placement."""
        return not self._lacking(placement) and (
            self.large is None or self.large.complete(placement)
        )

    def forget(self) -> None:
        """Drop all samples."""
        self._kept.clear()
        if self.large is not None:
            self.large.forget()

    def known(self, placement: int) -> bool:
        """Say whether every point was sampled in a placement; samples what lacks if it can."""
        return self.complete(placement) or (
            self.sample_missing(placement) and self.complete(placement)
        )

    def _sample(self, point: Point, wanted: int | None = None) -> int | None:
        sample, placement = self.placement.during(lambda: self._take(point), wanted)
        if placement is not None:
            self._of(placement)[point].append(sample)
        return placement

    def _take(self, point: Point) -> Sample:
        _use_isa(self.opened.subject, "" if point.kernel in WHOLE_LINES else BASE_ISA)
        with working(self.beside):
            return self.opened.subject.sample(point)

    def _of(self, placement: int) -> dict[Point, deque[Sample]]:
        return self._kept.setdefault(placement, defaultdict(lambda: deque(maxlen=KEPT)))

    def _lacking(self, placement: int) -> list[Point]:
        had = self._of(placement)
        return [p for one in self.points.values() for p in one if len(had[p]) < FEWEST]

    def samples(self, placement: int) -> dict[Point, list[Sample]]:
        """Return the samples of a placement that are kept, of all points that have any."""
        had = self._of(placement)
        found = {p: list(had[p]) for one in self.points.values() for p in one if had[p]}
        for point in self.points.get("bandwidth", []):
            if point in found:
                found[point] = self._going(point, found[point])
        return found

    def _going(self, point: Point, samples: list[Sample]) -> list[Sample]:
        """Return the samples of a bandwidth during which memory did not stall; all if all did."""
        every = [one.value for had in self._kept.values() for one in had.get(point, ())]
        return [one for one in samples if one.value * STALLED > max(every)] or samples

    def llc_bytes(self, placement: int) -> int | None:
        """Return what one core gets of the last-level cache; None: the curves do not show it."""
        return effective_llc_bytes(
            figures.random_latency_ns(self.samples(placement)),
            self.opened.inner_bytes,
            self.opened.llc_bytes,
        )

    def device(self, name: str, placement: int) -> DeviceProfile:
        """Return the profile of one placement's samples."""
        samples, opened = self.samples(placement), self.opened
        parts = self._parts(placement)
        if self.large is not None:
            large = self.large._parts(placement)
            parts.chains += large.chains
            parts.bandwidth += large.bandwidth
            # The figure of no region is the memory's own, with the pages that far data have.
            parts.latency += [one for one in large.latency if one.region_bytes is not None]
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
            measured=MeasuredContext(
                memory_spec=str(self.spec),
                repetitions=min(map(len, samples.values()), default=0),
                seconds=0.0,
                noise_floor=figures.noise_floor(samples),
                timer_resolution_ns=self.plan.facts.timer_resolution_ns,
                cpus=list(opened.cpus),
                llc_bytes=opened.llc_bytes,
                effective_llc_bytes=self.llc_bytes(placement),
                environment=fixed_facts(opened.cpus[0]) if opened.cpus else {},
                ended="repetitions",
                warnings=list(opened.warnings),
            ),
        )

    def _parts(self, placement: int) -> Parts:
        samples, parts = self._joined(placement), Parts()
        for surface, points in self.points.items():
            taken = {point: samples[point] for point in points if point in samples}
            if taken:
                parts.add(SURFACES.get(surface).figures(taken, self.plan))
        return parts

    def _joined(self, placement: int) -> dict[Point, list[Sample]]:
        """Return the samples, one chain's and those of the chase over the same region as one's: two
        points of one figure.
        """
        samples = self.samples(placement)
        found = dict(samples)
        for chain in (one for one in self.points.get("chains", []) if one.chains == 1):
            for chase in self.points.get("idle", []):
                same = chase.region_bytes == chain.region_bytes
                if same and chase.page_bytes == chain.page_bytes and {chain, chase} <= found.keys():
                    found[chain] = found[chase] = [*samples[chain], *samples[chase]]
        return found


def _use_isa(subject: Subject, isa: str) -> None:
    from nearfar import _measure

    if isinstance(subject, Sampler) and isa != subject.isa and isa in ("", *_measure.isas()):
        subject.use_isa(isa)


def _telling(points: list[Point], opened: Opened) -> list[Point]:
    """Return the least and the greatest region, and those around the ends of the caches.

    What lies between a first-level hit and the second level's end, or beyond the last, is known
    from its neighbours, and chases over tens of MiB take most of a round.
    """
    if not points:
        return points
    regions = [one.region_bytes for one in points]
    kept = {min(regions), max(regions)}
    kept |= {size for size in regions if opened.inner_bytes // 4 < size <= opened.llc_bytes // 2}
    return [one for one in points if one.region_bytes in kept]


def _first_beyond(inner_bytes: int, points: list[Point]) -> list[Point]:
    """Return a chase in the last-level cache alone: what its hits cost, however little one gets.

    A quick plan's regions are so far apart that the first beyond the cache before may be larger
    than what neighbours leave of the last: it then looked as if all of it were one's own.
    """
    region_bytes = 3 * inner_bytes
    chases = [one for one in points if one.kernel == "chase" and one.region_bytes > region_bytes]
    if not inner_bytes or not chases:
        return []
    smallest = min(chases, key=lambda one: one.region_bytes)
    return [replace(smallest, region_bytes=region_bytes)]


def _parts_of_largest(points: list[Point]) -> list[Point]:
    """Return chases over parts of the largest region that are not there yet."""
    if not points:
        return []
    whole = max(points, key=lambda one: one.region_bytes)
    had = {one.region_bytes for one in points}
    return [
        replace(whole, region_bytes=whole.region_bytes // part)
        for part in PARTS
        if whole.region_bytes // part not in had
    ]


def _wanted(point: Point) -> bool:
    if point.figure == "latency":
        return point.kernel == "chase" and not point.stride_bytes
    if point.figure == "bandwidth":
        return point.kernel in BANDWIDTH_KERNELS and point.access_bytes == LINE_BYTES
    if point.figure == "chains":
        return point.chains in CHAINS
    return True
