"""Device curves of near and far memory, sampled between the kernels' runs: both in one loop.

Medians of one machine move by 6 % (idle) to 14 % (contended) between minutes, so a kernel is
predicted from the rounds of curves that were sampled nearest to it in time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import MeasuredContext, Source
from nearfar.measure import figures
from nearfar.measure.capacity import effective_llc_bytes
from nearfar.measure.environment import fixed_facts
from nearfar.measure.open_subject import open_memory
from nearfar.measure.opened import Opened
from nearfar.measure.settings import Settings
from nearfar.measure.spec import MemorySpec
from nearfar.measure.subject import Point, Sample
from nearfar.measure.surfaces import SURFACES, Parts, Plan
from nearfar.measure.surfaces._surface import SOURCE
from nearfar.validate.companion import Companion, at_work

KEPT_ROUNDS = 7
"""Rounds of curves that a profile is the median of: the latest, some two minutes of them."""

SURFACES_TAKEN = ("idle", "chains", "bandwidth")
"""What the models read."""

BANDWIDTH_KERNELS = ("read", "read-random", "write", "nt-store", "nt-store-random")
LINE_BYTES = 64


@dataclass
class Curves:
    """One memory's curves, as they are now."""

    opened: Opened
    plan: Plan
    spec: MemorySpec
    points: dict[str, list[Point]]
    """By surface."""
    rounds: deque[dict[Point, Sample]]
    beside: Companion | None = None
    """What contends while it is sampled: the very process that contends with the kernels."""

    @staticmethod
    def open(spec: MemorySpec, region_bytes: int) -> Curves:
        """Take the memory, with a largest region of `region_bytes`.

        Where the spec has a load, `beside` must be set to it. One thread is measured then, alone in
        the sampler's eyes: it is timed by its CPU time, as the kernels are.
        """
        contended = spec.load != "none"
        settings = Settings(
            spec=replace(spec, load="none"),
            quick=True,
            threads=1 if contended else None,
            largest_bytes=region_bytes,
        )
        opened = open_memory(settings)
        plan = Plan(opened.subject.facts(), quick=True)
        points = {
            name: [point for point in SURFACES.get(name).points(plan) if _wanted(point)]
            for name in SURFACES_TAKEN
        }
        points["idle"] += _first_beyond(opened.inner_bytes, points["idle"])
        return Curves(opened, plan, spec, points, deque(maxlen=KEPT_ROUNDS))

    def sample_round(self) -> None:
        """Sample every point once; about a second of them."""
        points = [point for of_one in self.points.values() for point in of_one]
        with at_work(self.beside):
            self.rounds.append({point: self.opened.subject.sample(point) for point in points})

    def samples(self) -> dict[Point, list[Sample]]:
        """Return the samples of the rounds that are kept."""
        return {
            point: [one[point] for one in self.rounds]
            for of_one in self.points.values()
            for point in of_one
        }

    def llc_bytes(self) -> int | None:
        """Return what one core gets of the last-level cache; None: the curves do not show it."""
        return effective_llc_bytes(
            figures.random_latency_ns(self.samples()),
            self.opened.inner_bytes,
            self.opened.llc_bytes,
        )

    def device(self, name: str) -> DeviceProfile:
        """Return the profile of the rounds that are kept."""
        samples, opened = self.samples(), self.opened
        parts = Parts()
        for surface, points in self.points.items():
            taken = {point: samples[point] for point in points}
            if taken:
                parts.add(SURFACES.get(surface).figures(taken, self.plan))
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
                repetitions=len(self.rounds),
                seconds=0.0,
                noise_floor=figures.noise_floor(samples),
                timer_resolution_ns=self.plan.facts.timer_resolution_ns,
                cpus=list(opened.cpus),
                llc_bytes=opened.llc_bytes,
                effective_llc_bytes=self.llc_bytes(),
                environment=fixed_facts(opened.cpus[0]) if opened.cpus else {},
                ended="repetitions",
                warnings=list(opened.warnings),
            ),
        )


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


def _wanted(point: Point) -> bool:
    if point.figure == "latency":
        return point.kernel == "chase" and not point.stride_bytes
    if point.figure == "bandwidth":
        return point.kernel in BANDWIDTH_KERNELS and point.access_bytes == LINE_BYTES
    return True
