"""Drive of load generators, measured first so that loads spread over the whole curve.

Rests that suit one machine leave another idle or saturated. A burst of 2 KiB every 5 us is 5 % of a
DDR5 socket's bandwidth from 8 cores, but from 23 cores more than one Optane DIMM delivers. So each
surface that loads a memory first measures the full bandwidth (the peak), then about half of it.
These two samples give the time of a burst, and so the rest that draws a given share of the peak.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nearfar.base.errors import NearfarError
from nearfar.measure.surfaces._surface import BURST_BYTES, Drive, SurfacePlan
from nearfar.samples.point import Sample, SamplePoint


@dataclass(frozen=True)
class Mixture:
    """A kernel and its share of loads among the lines it touches."""

    traffic_share: float
    """Share of reads in all traffic, 0 to 1."""
    kernel: str
    """Kernel, ``mixed`` or ``mixed-nt``."""
    line_share: float


def mixture(traffic_share: float) -> Mixture:
    """Return the kernel that makes traffic of `traffic_share` reads, 0 to 1."""
    if not 0.0 <= traffic_share <= 1.0:
        raise NearfarError(
            f"a read share is between 0 % and 100 % of the traffic, not {traffic_share:.0%}"
        )
    if traffic_share < 0.5:
        return Mixture(traffic_share, "mixed-nt", traffic_share)
    return Mixture(traffic_share, "mixed", round(2.0 - 1.0 / traffic_share, 6))


def traffic_share(kernel: str, line_share: float) -> float:
    """Return reads over all traffic of a mixture kernel that loads `line_share` of its lines."""
    share = line_share if kernel.startswith("mixed-nt") else 1.0 / (2.0 - line_share)
    return round(share, 4)


def traffic_per_payload(kernel: str, line_share: float) -> float:
    """Return lines that cross the bus for each line that a kernel with such loads touches."""
    return 1.0 if kernel.startswith("mixed-nt") else 2.0 - line_share


FRACTIONS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 1.05)
"""Loads requested as shares of the peak, besides full speed. Near the peak bursts wait for each
other: 1.05 draws about 0.85."""
WRITES_FRACTIONS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
"""Fractions for persisted writes, which need another 8192 timed accesses a load."""
QUICK_FRACTIONS = (0.2, 0.4, 0.6, 0.8)

PROBES = 3
"""Samples of each drive: the median of three survives one disturbed; 60 ms of real memory."""

Take = Callable[[SamplePoint], Sample]


def generator_of(plan: SurfacePlan, share: float) -> tuple[str, float | None] | None:
    """Return kernel and share of loads that draw `share` reads; None: not possible."""
    chosen = mixture(share)
    if plan.has(chosen.kernel):
        return chosen.kernel, chosen.line_share
    # Kernels of one fixed share, where there is no mixture.
    fixed = {1.0: "read", 0.5: "copy-nt", 0.0: "nt-store"}.get(share)
    return (fixed, None) if fixed is not None and plan.has(fixed) else None


def scouted(
    plan: SurfacePlan, timed: SamplePoint, shares: Sequence[float], take: Take
) -> SurfacePlan:
    """Return `plan` with a drive for the generator of each of `shares`, probed next to `timed`.

    The probed points are like those measured later, so a resumed run takes them from its store.
    """
    drives = dict(plan.drives)
    timed = replace(timed, each=False, accesses=0)
    for share in shares:
        generator = generator_of(plan, share)
        if generator is not None and generator not in drives:
            kernel, line_share = generator
            loaded = replace(timed, generator=kernel, read_share=line_share)
            drives[generator] = _probe(loaded, plan.facts.threads - 1, take)
    return replace(plan, drives=drives)


def _probe(loaded: SamplePoint, generators: int, take: Take) -> Drive | None:
    """Return the drive; None if the subject does not report what its generators draw."""
    peak = _drawn(replace(loaded, pause_ns=0.0), take)
    if peak <= 0:
        return None
    saturated_ns = generators * BURST_BYTES / peak
    half = float(f"{saturated_ns:.3g}")
    # This rest draws half the peak if bursts take `saturated_ns` at any load, else more.
    drawn = _drawn(replace(loaded, pause_ns=half), take)
    if drawn <= 0:
        return None
    burst_ns = generators * BURST_BYTES / drawn - half
    return Drive(generators, peak, min(max(burst_ns, 0.0), saturated_ns))


def _drawn(point: SamplePoint, take: Take) -> float:
    """Return what the generators draw, without the timed thread."""
    samples = [take(point) for _ in range(PROBES)]
    return statistics.median(
        sample.drawn_gb_per_s - point.access_bytes / sample.value if sample.value > 0 else 0.0
        for sample in samples
    )
