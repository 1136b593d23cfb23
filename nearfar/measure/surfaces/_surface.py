"""The interface of a surface, its plan and its figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.base.estimate import Estimate
from nearfar.base.registry import Registry
from nearfar.base.statistics import median_estimate
from nearfar.base.units import PAGE_BYTES
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LatencyFigure,
    LoadedLatencyCurve,
)
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import Group, Sample, SamplePoint

SOURCE = "here"
"""Key of the one source of a measured device."""

MEASURED_HERE: dict[str, Any] = {"how": "measured", "source": SOURCE}

Samples = Mapping[SamplePoint, Sequence[Sample]]

SMALLEST_REGION_BYTES = 16 << 10
"""Smallest region: half of the smallest first-level data cache in use (32 KiB)."""


BURST_BYTES = 2048
"""Bytes that a generator moves before it rests (`SamplePoint.pause_ns`)."""


@dataclass(frozen=True)
class Drive:
    """Payload that all generators of one kernel and read share give together."""

    generators: int
    peak_gb_per_s: float
    burst_ns: float
    """Time of one generator for 2 KiB while the memory is half loaded, ns."""

    def pause_ns(self, fraction: float) -> float:
        """Return the rest after each burst that draws about `fraction` of the peak."""
        period_ns = self.generators * BURST_BYTES / (fraction * self.peak_gb_per_s)
        return float(f"{max(period_ns - self.burst_ns, 0.0):.3g}")

    def pauses_ns(self, fractions: Sequence[float]) -> list[float]:
        """Return distinct rests, longest first, full speed last."""
        return sorted({0.0, *(self.pause_ns(fraction) for fraction in fractions)}, reverse=True)


@dataclass(frozen=True)
class SurfacePlan:
    """Facts of the subject, and whether there is time for few points or all."""

    facts: SubjectFacts
    quick: bool
    drives: Mapping[tuple[str, float | None], Drive | None] = field(default_factory=dict)
    """Drives by generator and share of loads, from `Surface.scout`; None: the subject does not
    report what it draws."""

    @property
    def page_bytes(self) -> int:
        """Largest page size obtained, for all surfaces that are not about pages."""
        return self.facts.page_sizes[0]

    def has(self, kernel: str) -> bool:
        """Return whether the subject can run `kernel`."""
        return kernel in self.facts.kernels

    def regions(self, step: int) -> list[int]:
        """Return sizes up to the largest, each `step` times the one before, ascending."""
        return region_sizes(self.facts.largest_bytes, step)

    def threads(self, few: bool) -> list[int]:
        """Return 1, the maximum and, unless `few`, the powers of two between."""
        most = self.facts.threads
        between = [] if few else [2**power for power in range(1, 16) if 2**power < most]
        return sorted({1, *between, most})


def region_sizes(largest_bytes: int, step: int) -> list[int]:
    """Return sizes up to `largest_bytes`, ascending, each `step` times the one before.

    The first is always the smallest region, even if the second is close to it. In a region as large
    as the first-level cache, a single foreign line makes a whole set miss (1.2 to 4.3 ns instead of
    1.2 ns).
    """
    sizes = [largest_bytes]
    while sizes[-1] // step >= SMALLEST_REGION_BYTES:
        sizes.append(sizes[-1] // step // PAGE_BYTES * PAGE_BYTES)
    if sizes[-1] > SMALLEST_REGION_BYTES:
        sizes.append(SMALLEST_REGION_BYTES)
    return sizes[::-1]


@dataclass
class SurfaceFigures:
    """Figures for a DeviceProfile."""

    latency: list[LatencyFigure] = field(default_factory=list)
    bandwidth: list[BandwidthFigure] = field(default_factory=list)
    chains: list[ChainsFigure] = field(default_factory=list)
    loaded_latency: list[LoadedLatencyCurve] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Warnings about the figures, one sentence each."""

    def add(self, other: SurfaceFigures) -> None:
        """Append the figures of another surface."""
        self.latency += other.latency
        self.bandwidth += other.bandwidth
        self.chains += other.chains
        self.loaded_latency += other.loaded_latency
        self.warnings += other.warnings


class Surface(ABC):
    """A kind of points, and the figures of their samples."""

    group: ClassVar[Group]
    summary: ClassVar[str]
    """One line that follows "measures"."""

    def scout(self, plan: SurfacePlan, take: Callable[[SamplePoint], Sample]) -> SurfacePlan:
        """Return `plan` with what a few samples show before points are chosen."""
        del take
        return plan

    @abstractmethod
    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points of a round; empty if the subject cannot sample them."""

    @abstractmethod
    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return figures with 95 % intervals from samples of `points`."""

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why the subject cannot give this surface, one sentence; empty: it can."""
        del plan
        return ""


SURFACES: Registry[Surface] = Registry("nearfar.measure.surfaces", "surface")


def all_surfaces(names: Iterable[str] = ()) -> dict[str, Surface]:
    """Return the surfaces `names`, or all; refuse an unknown name."""
    return {name: SURFACES.get(name) for name in (list(names) or SURFACES.names())}


def values(samples: Sequence[Sample]) -> list[float]:
    """Return the values of undisturbed samples, or of all if most are disturbed.

    A sample during which another program had the core shows nothing about the memory.
    """
    calm = [sample.value for sample in samples if not sample.disturbed]
    return calm if len(calm) >= (len(samples) + 1) // 2 else [sample.value for sample in samples]


def ns_figures(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate in ns as fields of a figure."""
    return {"value_ns": estimate.value, "low_ns": estimate.low, "high_ns": estimate.high}


def gb_figures(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate in GB/s as fields of a figure."""
    return {
        "value_gb_per_s": estimate.value,
        "low_gb_per_s": estimate.low,
        "high_gb_per_s": estimate.high,
    }


def ns_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the median of samples in ns with its interval."""
    return ns_figures(median_estimate(values(samples)))


def gb_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the median of samples in GB/s with its interval."""
    return gb_figures(median_estimate(values(samples)))
