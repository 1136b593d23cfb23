"""What a surface is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

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

if TYPE_CHECKING:
    from nearfar.measure.surfaces._drive import Drive

SOURCE = "here"
"""Key of the one source of a measured device."""

MEASURED_HERE: dict[str, Any] = {"how": "measured", "source": SOURCE}

Samples = Mapping[SamplePoint, Sequence[Sample]]

SMALLEST_REGION_BYTES = 16 << 10
"""Half of the smallest first-level data cache in use (32 KiB): a latency of the cache itself."""


@dataclass(frozen=True)
class SurfacePlan:
    """Facts of the subject, and whether there is time for few points or all."""

    facts: SubjectFacts
    quick: bool
    drives: Mapping[tuple[str, float | None], Drive | None] = field(default_factory=dict)
    """By generator and its share of loads, as `Surface.scout` found them; None: the subject cannot
    say what it draws."""

    @property
    def page_bytes(self) -> int:
        """The largest pages obtained: those of all but the surfaces that are about pages."""
        return self.facts.page_sizes[0]

    def has(self, kernel: str) -> bool:
        """Say whether the subject can run `kernel`."""
        return kernel in self.facts.kernels

    def regions(self, step: int) -> list[int]:
        """Return sizes up to the largest, each `step` times the one before, ascending."""
        return region_sizes(self.facts.largest_bytes, step)

    def threads(self, few: bool) -> list[int]:
        """Return 1 and the most, and the powers of two between unless `few`."""
        most = self.facts.threads
        between = [] if few else [2**power for power in range(1, 16) if 2**power < most]
        return sorted({1, *between, most})


def region_sizes(largest_bytes: int, step: int) -> list[int]:
    """Return sizes up to `largest_bytes`, ascending; each but the second `step` times the one
    before.

    The first is the smallest there is, however near the second: over a region as large as the
    first-level cache, one line of anything else makes all of a set miss (1.2 ns were 1.2 to 4.3).
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
    """Points of one kind, and the figures their samples give."""

    group: ClassVar[Group]
    summary: ClassVar[str]
    """One line for people, after "measures"."""

    def scout(self, plan: SurfacePlan, take: Callable[[SamplePoint], Sample]) -> SurfacePlan:
        """Return `plan` with what must be known before points are chosen, by a few samples."""
        del take
        return plan

    @abstractmethod
    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return what to sample once a round; empty where the subject cannot."""

    @abstractmethod
    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Turn samples of `points` into figures with 95 % intervals."""

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why the subject cannot give this surface, one sentence; empty: it can."""
        del plan
        return ""


SURFACES: Registry[Surface] = Registry("nearfar.measure.surfaces", "surface")


def all_surfaces(names: Iterable[str] = ()) -> dict[str, Surface]:
    """Return the surfaces called `names`, or all; refuses a name that is none."""
    return {name: SURFACES.get(name) for name in (list(names) or SURFACES.names())}


def values(samples: Sequence[Sample]) -> list[float]:
    """Return the values of samples; of disturbed ones only where nearly all are.

    A sample during which something else had the core says nothing of the memory.
    """
    calm = [sample.value for sample in samples if not sample.disturbed]
    return calm if len(calm) >= (len(samples) + 1) // 2 else [sample.value for sample in samples]


def ns_figures(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate in ns under the names that figures have."""
    return {"value_ns": estimate.value, "low_ns": estimate.low, "high_ns": estimate.high}


def gb_figures(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate in GB/s under the names that figures have."""
    return {
        "value_gb_per_s": estimate.value,
        "low_gb_per_s": estimate.low,
        "high_gb_per_s": estimate.high,
    }


def ns_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the median of samples in ns with its interval."""
    return ns_figures(median_estimate(values(samples)))


def gb_of(samples: Sequence[Sample], scale: float = 1.0) -> dict[str, Any]:
    """Return the median of samples in GB/s, times `scale`, with its interval."""
    return gb_figures(median_estimate([scale * value for value in values(samples)]))
