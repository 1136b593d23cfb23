"""Programs whose memory is limited and whose other pages are swapped: the model `paged`.

A touch of a page faults if more distinct pages were touched since its last touch than near memory
holds (LRU). Linux' active and inactive lists lie between that and a random choice, mostly close to
LRU; the interval spans both (docs/paged.md has measurements). Once near memory is full, each fault
and each page touched for the first time evicts a page. A thread waits for its faults; near time
does not change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import PAGE_BYTES
from nearfar.devices.paged_figures import PageMove, fault_cost
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import FIRST_TIME_EDGE, PageCurve, Phase
from nearfar.predict.phases import busy_threads
from nearfar.predict.traffic import Array

RECLAIM_ERROR = 0.05
"""Relative error of the near memory that an LRU would need to fault as often as the kernel."""

COST_ERROR = 0.2
"""Relative half-width of the time of a fault whose figure has no interval."""

LOOKING_ERROR = 1.0
"""Relative additional time of a fault when the kernel examines many pages before it finds one to
evict, for devices without times of such exchanges: up to 30 us were measured instead of 15 us."""

CONTENT_ERROR = 0.3
"""Relative half-width of a page's time in compressed memory, by its content: with the times that
compressors took for data of one compressed size (docs/paged.md), an exchange of 13.7 us would take
0.7 to 1.3 times as long."""

WORK_ERROR = 0.15
"""The error of an exchange if the compressor's work on the data is known: of 16 kinds of pages, the
time to write one was off by 1.1 us at most, and an exchange also reads one."""

MOVED = 3
"""Row of the times for a process that has run on several CPUs."""

PATTERNS: tuple[Literal["random", "sequential"], ...] = ("random", "sequential")
STORES: tuple[tuple[Literal["read", "write"], int], ...] = (("read", 1), ("write", 1), ("write", 2))
"""Key of the exchanges that show the cost of a store: two threads on two CPUs."""

PAGES_PER_GIB = (1 << 30) // PAGE_BYTES


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
    """Pages that were stored to, among those that faults bring back; same shape."""
    touches: Array
    """Touches by object and by the number of touches in between (`PageCurve.times`)."""
    first_by_object: Array
    """Pages touched for the first time."""
    first_before: float
    """Pages touched for the first time in earlier phases."""
    sequential: Array
    """Share of misses that advance from page to page, by object."""
    compressed_share: float | None
    """Mean over the moved pages, weighted by their faults, as is `compression_work`."""
    compression_work: float | None
    page_rate: float
    """Pages per sampled page."""

    @property
    def first(self) -> float:
        """Return the pages touched for the first time."""
        return float(self.first_by_object.sum())

    @property
    def threads(self) -> float:
        """Return the threads that ran at once."""
        return busy_threads([self.phase])


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
        curves = [curve for _, curve in rows]
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
                compressed_share=_mean(curves, "compressed_share"),
                compression_work=_mean(curves, "compression_work"),
                page_rate=workload.sampling.page_rate,
            )
        )
        before += float(first.sum())
    return phases


def _mean(curves: Sequence[PageCurve], key: str) -> float | None:
    """Return the mean of a figure of content, weighted by touches; None: no page was examined."""
    weights = [curve.first + curve.faults[0] for curve in curves]
    known = [(w, v) for w, c in zip(weights, curves, strict=True) if (v := getattr(c, key)) and w]
    return sum(w * v for w, v in known) / sum(w for w, _ in known) if known else None


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
    """Evicted pages that are written; the others still have their copy."""
    retouches: float = 0.0
    """Touches, per evicted page, of near pages that are not among the most recently used pages that
    fit the kernel's active list."""
    stored: Array | None = None
    """Share of the faults whose pages are stored to before eviction, by object; None: none."""


def moved(phase: PagedPhase, near_pages: float, *, keeps_copies: bool) -> PageMoves:
    """Return the moved pages if the most recently used pages stay near."""
    faults = faults_at(phase, near_pages)
    first = min(phase.first, max(0.0, phase.first_before + phase.first - near_pages))
    back = float(faults.sum())
    dirty = float(_at(phase, phase.written, near_pages).sum()) if keeps_copies else back
    recent = float(faults_at(phase, active_pages(near_pages)).sum())
    retouches = max(0.0, recent - back) / (back + first) if back + first > 0 else 0.0
    stored = _at(phase, phase.written, near_pages) / np.maximum(faults, 1.0)
    stored = np.clip(stored, 0.0, 1.0)
    return PageMoves(faults, back + first, min(dirty, back) + first, retouches, stored)


def active_pages(near_pages: float) -> float:
    """Return the size of the active list of a near memory (`inactive_is_low` in mm/vmscan.c).

    If a page was touched while it was on the inactive list, the kernel keeps it and searches
    further for a page to evict.
    """
    whole_gib = int(near_pages / PAGES_PER_GIB)
    ratio = math.isqrt(10 * whole_gib) if whole_gib else 1
    return near_pages * ratio / (1 + ratio)


def faults_at(phase: PagedPhase, near_pages: float) -> Array:
    """Return the faults by object if the most recently used pages stay near."""
    return _at(phase, phase.faults, near_pages)


def _at(phase: PagedPhase, by_size: Array, near_pages: float) -> Array:
    sizes = phase.sizes_pages
    place = float(np.interp(near_pages, sizes, np.arange(len(sizes))))
    below = min(int(place), max(len(sizes) - 2, 0))
    above = min(below + 1, len(sizes) - 1)
    part = place - below
    return np.asarray(by_size[:, below] * (1.0 - part) + by_size[:, above] * part)


def random_faults(
    phase: PagedPhase, near_pages: float, moving: Array | None = None, locked_pages: float = 0.0
) -> float:
    """Return the faults if each page that comes in evicts a random page.

    With m faults per touch and C near pages, a page touched again after t touches was evicted with
    probability 1 - exp(-m t / C); further pages were evicted before the phase. m is the largest
    fixed point. If some near pages are locked, only the share `moving` of each object is evicted.
    """
    by_time = phase.touches.sum(axis=0) if moving is None else moving @ phase.touches
    touches, before = float(phase.touches.sum()), phase.first_before - locked_pages
    unlocked_pages = max(near_pages - locked_pages, 1.0)
    if touches == 0.0 or before + phase.first <= unlocked_pages:
        return 0.0
    # The middles of the buckets that end at 512, 768, 1024, 1536 ... touches.
    between = FIRST_TIME_EDGE * 2.0 ** (np.arange(phase.touches.shape[1]) / 2 - 0.25)
    gone_before = max(0.0, 1.0 - unlocked_pages / before) if before > 0 else 0.0
    stayed = 1.0 - np.minimum(1.0, between / touches) * gone_before
    share, following = 0.0, 1.0
    while abs(following - share) > 1e-6:
        share = following
        gone = 1.0 - stayed * np.exp(-share * between / unlocked_pages)
        following = float(by_time @ gone) / touches
    return following * touches


def budget_error(sampled_pages: float) -> float:
    """Return the relative error of a near memory's size by reclaim and by sampling pages."""
    return math.hypot(RECLAIM_ERROR, 0.5 / math.sqrt(max(sampled_pages, 1.0)))


class PageCosts:
    """Times of the pages of one phase in one paged memory, ns."""

    def __init__(self, device: DeviceProfile, phase: PagedPhase) -> None:
        """Read the device's figures for the phase's data, order and threads."""
        self.device, self.phase = device, phase
        self.keeps_copies = device.paged is None or device.paged.backing not in ("zram", "zswap")
        exchanges = [row for row in device.faults if row.event == "exchange"]
        self._exchanges = bool(exchanges)
        self._faults = any(row.event == "fault" for row in device.faults)
        self._evicts = any(row.event == "evict" for row in device.faults)
        self._exchanged_share = exchanges[0].compressed_share if exchanges else None
        self._knows_work = phase.compression_work is not None and any(
            row.compression_work is not None for row in device.faults
        )
        error = WORK_ERROR if self._knows_work and self._exchanges else CONTENT_ERROR
        self._content_error = error if not self.keeps_copies else 0.0
        self._knows_search_time = any(row.retouches for row in device.faults)
        zram = device.paged is not None and device.paged.backing == "zram"
        self.calibrated = zram and self._exchanges and self._knows_work
        """Whether intervals of such a memory have been compared with measured times: zram whose
        exchanges were measured, and data whose compressor's work is known."""
        self.clean_ns = self._clean_ns()
        self._figures: dict[PageMove, Estimate] = {}

    def _move_time(self, move: PageMove) -> Estimate:
        if move not in self._figures:
            self._figures[move] = self._interpolated(move)
        return self._figures[move]

    def _interpolated(self, move: PageMove) -> Estimate:
        threads = max(move.threads, round(self.phase.threads))
        share = self.phase.compressed_share
        work = self.phase.compression_work
        if move.compressed_share is not None:
            share, work = move.compressed_share, move.compression_work
        content = replace(move, compressed_share=share, compression_work=work, threads=threads)
        figure = fault_cost(self.device, content)
        value = figure.value_ns
        low = value * (1 - COST_ERROR) if figure.low_ns is None else figure.low_ns
        high = value * (1 + COST_ERROR) if figure.high_ns is None else figure.high_ns
        below, above = (
            math.hypot(each, self._content_error * value)
            for each in (max(value - low, 0.0), max(high - value, 0.0))
        )
        return Estimate(value, max(value - below, 0.0), value + above)

    def _clean_ns(self) -> float:
        rows = [
            row for row in self.device.faults if (row.event, row.operation) == ("evict", "read")
        ]
        return min((row.value_ns for row in rows), default=0.0) if self.keeps_copies else 0.0

    def evict(self, retouches: float = 0.0) -> Array:
        """Return the time of an eviction for a new page: value, low, high, moved.

        At the limit, this is the time of an exchange of a stored page less that of a fault: the
        program waits while the kernel searches for a page. It is 0 if the device has no such time.
        """
        if self._exchanges and self._faults:
            data = None if self._knows_work else self._exchanged_share
            gone = self._move_time(PageMove("exchange", compressed_share=data, retouches=retouches))
            came = self._move_time(PageMove(compressed_share=data))
            value = gone.value - came.value
            ends = [value, gone.low - came.low, gone.high - came.high]
            of_page = [value, min(ends), max(ends), value]
            stored = np.array(of_page) + self._stores_ns
            return np.asarray(np.maximum(stored, 0.0))
        alone = self._move_time(PageMove("evict", "write")) if self._evicts else Estimate(0, 0, 0)
        return np.array([alone.value, alone.low, alone.high, alone.value])

    def fault(self, retouches: float = 0.0, stored: Array | None = None) -> Array:
        """Return the time per faulting page, by object; rows: value, low, high, moved.

        If the device has times of exchanges, they include the eviction and the kernel's search for
        a page to evict. `moved` is the value for a process that has run on several CPUs.
        """
        event: Literal["exchange", "fault"] = "exchange" if self._exchanges else "fault"
        random, ordered = (
            self._move_time(PageMove(event, "read", pattern, retouches=retouches))
            for pattern in PATTERNS
        )
        share = self.phase.sequential
        times = np.array(
            [
                getattr(random, end) * (1 - share) + getattr(ordered, end) * share
                for end in ("value", "low", "high", "value")
            ]
        )
        if retouches and not self._knows_search_time:
            times[2] *= 1.0 + LOOKING_ERROR
        if self._exchanges and stored is not None:
            times += np.outer(self._stores_ns, stored)
        return times

    @cached_property
    def _stores_ns(self) -> list[float]:
        """Additional time of a page that is stored to, in the rows of `fault`.

        Before the kernel writes such a page, each CPU on which the process ran in the last second
        must flush its translation, and the kernel waits for these CPUs.
        """
        read, write, moved = (
            self._move_time(PageMove("exchange", operation, threads=threads))
            for operation, threads in STORES
        )
        value = max(0.0, write.value - read.value)
        other = max(value, moved.value - read.value)
        low = min(value, max(0.0, write.low - read.low))
        return [value, low, max(other, write.high - read.high), other]

    def mean_fault_ns(self, end: int = 0, retouches: float = 0.0) -> float:
        """Return the mean time of a fault, weighted by objects' touches; `end` as in `added_ns`."""
        weights = self.phase.faults[:, 0]
        stored = np.clip(self.phase.written[:, 0] / np.maximum(weights, 1.0), 0.0, 1.0)
        times = self.fault(retouches, stored)[end]
        if not len(times):
            return 0.0
        return float(np.average(times, weights=weights if weights.sum() > 0 else None))

    def added_ns(self, pages: PageMoves, end: int = 0) -> Array:
        """Return the time that moved pages add, by object.

        `end`: 0 value, 1 low, 2 high, `MOVED` the value of a process that ran on several CPUs.
        """
        return np.asarray(self.added_rows_ns(pages)[end])

    def added_rows_ns(self, pages: PageMoves) -> Array:
        """Return the times of `added_ns` of all ends, (ends, objects)."""
        added = pages.faults * self.fault(pages.retouches, pages.stored)
        back = float(pages.faults.sum())
        written = pages.written - (back if self._exchanges else 0.0)
        clean = 0.0 if self._exchanges else pages.evicted - pages.written
        evictions = max(written, 0.0) * self.evict(pages.retouches) + clean * self.clean_ns
        count = len(pages.faults)
        weights = pages.faults / back if back > 0 else np.full(count, 1.0 / max(count, 1))
        return np.asarray(np.maximum(added + np.outer(evictions, weights), 0.0))

    def transfer_ns(self, pages: PageMoves) -> float:
        """Return the least wall time that the device's bandwidth allows, ns."""
        times = []
        for operation, count in (("read", float(pages.faults.sum())), ("write", pages.written)):
            rates = [
                row.value_gb_per_s for row in self.device.bandwidth if row.operation == operation
            ]
            times.append(count * PAGE_BYTES / max(rates) if rates else 0.0)
        return max(times)
