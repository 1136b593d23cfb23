"""Programs whose memory is limited and whose other pages are swapped: the model `paged`.

A page's touch faults if more distinct pages were touched since its last touch than the near memory
holds: LRU. Linux' active and inactive lists lie between that and a random choice, mostly close to
LRU; the interval spans both (docs/paged.md has measurements). Pages that come in send others away:
each fault one, and each page touched for the first time once near memory is full. A thread waits
for its faults; near time is as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import PAGE_BYTES
from nearfar.devices.paged_figures import PageMove, fault_cost
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import Phase
from nearfar.predict.traffic import Array

SAMPLED_PAGES = 256
"""One page in so many was sampled (native/profile/abi.h)."""

RECLAIM_ERROR = 0.05
"""Relative error of the near memory that an LRU would need to fault as often as the kernel."""

COST_ERROR = 0.2
"""Relative half-width of the time of a fault whose figure has no interval."""

RECLAIM_NS = 15_000.0
"""Most CPU time beyond a device's figure that the kernel takes to find a page to send away, where
many are touched again while they are near: faults took up to 30 us in programs and 15 us where they
were measured."""


@dataclass(frozen=True)
class PagedPhase:
    """Touches of pages of one phase, by object and distance."""

    phase: Phase
    objects: list[int]
    sizes_pages: Array
    """Sizes of near memory in pages, ascending."""
    faults: Array
    """Faults by object and size, shape (objects, sizes)."""
    written: Array
    """Pages stored to among those that faults bring back, same shape."""
    touches: Array
    """Touches by object and by the number of touches in between (`PageCurve.times`)."""
    first_by_object: Array
    """Pages touched for the first time."""
    first_before: float
    """The same in earlier phases."""
    sequential: Array
    """Share of misses that advance from page to page, by object."""
    compressed_share: float | None

    @property
    def first(self) -> float:
        """Return the pages touched for the first time."""
        return float(self.first_by_object.sum())

    @property
    def threads(self) -> float:
        """Return the threads that ran at once."""
        wall = self.phase.near_wall_time_ns
        return max(1.0, self.phase.near_cpu_time_ns.value / wall) if wall > 0 else 1.0


def paged_phases(workload: WorkloadProfile) -> list[PagedPhase]:
    """Return the page touches of every phase; raise NearfarError where none were counted."""
    if not workload.page_curve_bytes:
        raise NearfarError(
            "the profile has no page curves, which paged memories need: build the program with "
            "this nearfar's cc and profile it again (merged and extrapolated profiles, and those "
            "by counters, have none)"
        )
    sizes = np.array(workload.page_curve_bytes) / PAGE_BYTES
    phases, before = [], 0.0
    for phase in workload.phases:
        rows = [
            (row, row.page_curve)
            for row in phase.objects
            # Pages of files are read from the file again.
            if row.page_curve is not None and workload.objects[row.object].kind != "file"
        ]
        touches = np.zeros((len(rows), max((len(curve.times) for _, curve in rows), default=0)))
        for place, (_, curve) in enumerate(rows):
            touches[place, : len(curve.times)] = curve.times
        first = np.array([curve.first for _, curve in rows])
        sequential = []
        for row, _ in rows:
            ordered = row.traffic.read_sequential.total() + row.traffic.write_sequential.total()
            sequential.append(min(1.0, ordered / max(row.traffic.misses(), 1.0)))
        looked_at = [(c.first + c.faults[0], c.compressed_share) for _, c in rows]
        known = [(weight, share) for weight, share in looked_at if share is not None and weight]
        phases.append(
            PagedPhase(
                phase=phase,
                objects=[row.object for row, _ in rows],
                sizes_pages=sizes,
                faults=np.array([curve.faults for _, curve in rows]).reshape(-1, len(sizes)),
                written=np.array([curve.written for _, curve in rows]).reshape(-1, len(sizes)),
                touches=touches,
                first_by_object=first,
                first_before=before,
                sequential=np.array(sequential),
                compressed_share=sum(w * s for w, s in known) / sum(w for w, _ in known)
                if known
                else None,
            )
        )
        before += float(first.sum())
    return phases


def footprint_pages(phases: Sequence[PagedPhase]) -> float:
    """Return the pages that the program touches."""
    return sum(phase.first for phase in phases)


@dataclass(frozen=True)
class PageMoves:
    """Pages that move in a phase with a near memory of some size."""

    faults: Array
    """By object."""
    evicted: float
    written: float
    """Evicted pages that are written; the others have their copy still."""


def moved(phase: PagedPhase, near_pages: float, *, keeps_copies: bool) -> PageMoves:
    """Return the pages that move where the most recent ones stay near."""
    faults = _at(phase, phase.faults, near_pages)
    first = min(phase.first, max(0.0, phase.first_before + phase.first - near_pages))
    back = float(faults.sum())
    dirty = float(_at(phase, phase.written, near_pages).sum()) if keeps_copies else back
    return PageMoves(faults, back + first, min(dirty, back) + first)


def _at(phase: PagedPhase, by_size: Array, near_pages: float) -> Array:
    sizes = phase.sizes_pages
    place = float(np.interp(near_pages, sizes, np.arange(len(sizes))))
    below = min(int(place), max(len(sizes) - 2, 0))
    above = min(below + 1, len(sizes) - 1)
    part = place - below
    return np.asarray(by_size[:, below] * (1.0 - part) + by_size[:, above] * part)


def random_faults(phase: PagedPhase, near_pages: float) -> float:
    """Return the faults where a random page goes for each that comes.

    With m faults per touch, a page touched again after t touches has gone with 1 - exp(-m t / C),
    and pages were gone when the phase began; m is the largest share that agrees with itself.
    """
    touches, before = float(phase.touches.sum()), phase.first_before
    if touches == 0.0 or before + phase.first <= near_pages:
        return 0.0
    # The middles of the buckets that end at 2, 3, 4, 6, 8 ... sampled touches.
    between = SAMPLED_PAGES * 2.0 ** (np.arange(phase.touches.shape[1]) / 2 + 0.75)
    gone_before = max(0.0, 1.0 - near_pages / before) if before else 0.0
    stayed = 1.0 - np.minimum(1.0, between / touches) * gone_before
    share, following = 0.0, 1.0
    while abs(following - share) > 1e-6:
        share = following
        gone = 1.0 - stayed * np.exp(-share * between / near_pages)
        following = float(phase.touches.sum(axis=0) @ gone) / touches
    return following * touches


def budget_error(footprint: float) -> float:
    """Return the relative error of a near memory's size by reclaim and by sampling pages."""
    return math.hypot(RECLAIM_ERROR, 0.5 / math.sqrt(max(footprint / SAMPLED_PAGES, 1.0)))


class PageCosts:
    """Times of the pages of one phase in one paged memory, ns."""

    def __init__(self, device: DeviceProfile, phase: PagedPhase) -> None:
        """Read the device's figures for the phase's data, order and threads."""
        self.device, self.phase = device, phase
        self.keeps_copies = device.paged is None or device.paged.backing not in ("zram", "zswap")
        self._exchanges = any(row.event == "exchange" for row in device.faults)
        self._evicts = any(row.event == "evict" for row in device.faults)
        self.clean_ns = self._clean_ns()

    def _figure(self, move: PageMove) -> Estimate:
        share, threads = self.phase.compressed_share, round(self.phase.threads)
        figure = fault_cost(
            self.device,
            PageMove(move.event, move.operation, move.pattern, share, threads),
        )
        value = figure.value_ns
        low = value * (1 - COST_ERROR) if figure.low_ns is None else figure.low_ns
        high = value * (1 + COST_ERROR) if figure.high_ns is None else figure.high_ns
        return Estimate(value, min(low, value), max(high, value))

    def _clean_ns(self) -> float:
        rows = [
            row for row in self.device.faults if (row.event, row.operation) == ("evict", "read")
        ]
        return min((row.value_ns for row in rows), default=0.0) if self.keeps_copies else 0.0

    def evict(self) -> Estimate:
        """Return the time of a page that is written; 0 where the device has none."""
        return self._figure(PageMove("evict", "write")) if self._evicts else Estimate(0, 0, 0)

    def fault(self) -> Array:
        """Return the time per page that comes, by object; rows: value, low, high.

        Where the device knows exchanges, the page that goes is in it.
        """
        event = "exchange" if self._exchanges else "fault"
        random, ordered = (
            self._figure(PageMove(event, "read", pattern))  # type: ignore[arg-type]
            for pattern in ("random", "sequential")
        )
        share = self.phase.sequential
        times = np.array(
            [
                getattr(random, end) * (1 - share) + getattr(ordered, end) * share
                for end in ("value", "low", "high")
            ]
        )
        times[2] += RECLAIM_NS
        return times

    def mean_fault_ns(self, end: int = 0) -> float:
        """Return the time of a fault, weighted by the touches of objects' pages; `end` as below."""
        times, weights = self.fault()[end], self.phase.faults[:, 0]
        if not len(times):
            return 0.0
        return float(np.average(times, weights=weights if weights.sum() > 0 else None))

    def added_ns(self, pages: PageMoves, end: int = 0) -> Array:
        """Return the time that moved pages add, by object; `end`: 0 value, 1 low, 2 high."""
        name = ("value", "low", "high")[end]
        added = pages.faults * self.fault()[end]
        back = float(pages.faults.sum())
        written = pages.written - (back if self._exchanges else 0.0)
        clean = 0.0 if self._exchanges else pages.evicted - pages.written
        evictions = max(written, 0.0) * getattr(self.evict(), name) + clean * self.clean_ns
        weights = pages.faults / back if back > 0 else np.full(len(added), 1.0 / max(len(added), 1))
        return np.asarray(np.maximum(added + weights * evictions, 0.0))

    def transfer_ns(self, pages: PageMoves) -> float:
        """Return the time that the device's bandwidth takes at least, ns of wall time."""
        times = []
        for operation, count in (("read", float(pages.faults.sum())), ("write", pages.written)):
            rates = [
                row.value_gb_per_s for row in self.device.bandwidth if row.operation == operation
            ]
            times.append(count * PAGE_BYTES / max(rates) if rates else 0.0)
        return max(times)
