"""Ranges of a line's costs from a memory's own figures; nothing here calls the model.

A far memory seen from a core: its latency by the three conversions of a published latency, its
bandwidths by the best and the worst possible figure, one core's sequential reads by the figure of
one thread, as published or in proportion to that of its host's local DRAM, otherwise between
bandwidth alone and latency in proportion to near memory's. Near memory's are by its figure of one
thread, otherwise by a number of lines in flight.

Where figures of several threads are known, one core's reads take as long as those of as many
threads: T threads of which one draws B alone and all draw B(T) take T B / B(T) times as long for a
line. Between two numbers of threads, B(T) is concave, for each further thread adds no more than the
one before: it lies above the straight line between them, and below T B. Beyond the best number of
threads, all together draw what the figure of as many gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.documents.device import LoadedLatencyCurve, Operation

LINE_BYTES = 64
ASSUMED_PARALLELISM = 10.0
"""Misses that a core overlaps where no chains curve was measured."""

STREAM_LINES = 20.0
"""Lines in flight of one core's sequential reads where no figure of one thread is known."""


@dataclass(frozen=True)
class Span:
    """Least and greatest value that the figures allow."""

    low: float
    high: float

    def times(self, factor: float) -> Span:
        return Span(self.low * factor, self.high * factor)

    def plus(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class PaperMemory:
    """Times of a line in one memory, ns."""

    name: str
    latency_ns: Span
    """A dependent random read."""
    in_flight: dict[int, float]
    """Misses that this core overlaps, by the number of chains; `MOST` has the greatest."""
    stream_ns: Span
    """A line of one core's sequential read, alone."""
    read_ns: Span
    """A line read by all cores together, in sequence."""
    random_read_ns: Span
    write_ns: Span
    """A line written back by all cores together, in sequence."""
    random_write_ns: Span
    curves: tuple[LoadedLatencyCurve, ...]
    """Latency by drawn bandwidth."""
    own_load: bool = False
    """Whether the costs of chains include the load of their core."""
    beside: Span = Span(1.0, 1.0)
    """Time of a line of one core's sequential read beside the other threads, over that alone."""

    def chain_ns(self, chains: int) -> Span:
        """Return the cost of a miss while so many chains run, without other threads."""
        overlap = self.in_flight[chains]
        return Span(
            max(self.latency_ns.low / overlap, self.read_ns.low),
            max(self.latency_ns.high / overlap, 0.0 if self.own_load else self.random_read_ns.high),
        )

    @property
    def shared_stream_ns(self) -> Span:
        """Return a line's time of one core's sequential read while the other threads read too."""
        return Span(self.stream_ns.low * self.beside.low, self.stream_ns.high * self.beside.high)

    @property
    def greatest_load(self) -> float:
        """Greatest loaded over idle latency of the curves; 1 without any."""
        return max((max(ns for _, ns in c.points) / c.points[0][1] for c in self.curves), default=1)

    def greatest_ratio(self, near: PaperMemory) -> float:
        """Return the greatest ratio of a figure to near memory's, at least 1."""
        return max(
            1.0,
            *(
                getattr(self, name).high / getattr(near, name).low
                for name in (
                    "latency_ns",
                    "shared_stream_ns",
                    "read_ns",
                    "random_read_ns",
                    "write_ns",
                )
            ),
        )

    def loaded(self, gb_per_s: float, read_share: float) -> float:
        """Return loaded over idle latency at a drawn bandwidth."""
        curve = min(self.curves, key=lambda c: abs(c.read_share - read_share), default=None)
        if curve is None:
            return 1.0
        drawn, latency_ns = zip(*sorted(curve.points), strict=True)
        at = np.interp(gb_per_s, drawn, np.maximum.accumulate(latency_ns))
        return float(at) / latency_ns[0]


CHAINS = (1, 2, 4, 8)
MOST = 32
"""Chains that stand for as many misses as a core overlaps."""


def near_paper(
    device: DeviceProfile, page_bytes: int | None = None, threads: int = 1
) -> PaperMemory:
    """Return near memory as one of `threads` sees it: its figures are exact."""
    curve = chains_of(device, page_bytes)
    latency_ns = curve.get(1, latency_of(device))
    in_flight = {k: latency_ns / curve[k] if k in curve else float(k) for k in CHAINS}
    in_flight[MOST] = latency_ns / min(curve.values()) if len(curve) > 1 else ASSUMED_PARALLELISM
    read_ns = LINE_BYTES / (best(device, "read") or best(device, "mixed") or 0.0)
    best_figure = best(device, "read", threads=1)
    unwalked_ns = chains_of(device, None).get(1, latency_of(device))
    in_order_ns = 0.0 if device.measured else unwalked_ns / STREAM_LINES
    stream_ns = LINE_BYTES / best_figure if best_figure else max(read_ns, in_order_ns)
    random = random_span(device, "read", Span(read_ns, read_ns))
    # Chains show what random reads get at least.
    random_ns = min(random.high, max(read_ns, latency_ns / in_flight[MOST]))
    write_ns = near_write_ns(device, read_ns)
    random_write_ns = random_span(device, "nt-store", Span(write_ns, write_ns)).high
    read_ns *= crowded(device, "read", threads)
    return PaperMemory(
        name=device.name,
        latency_ns=Span(latency_ns, latency_ns),
        in_flight=in_flight,
        stream_ns=Span(stream_ns, stream_ns),
        read_ns=Span(read_ns, read_ns),
        random_read_ns=Span(random_ns, random_ns),
        write_ns=Span(write_ns, write_ns),
        random_write_ns=Span(random_write_ns, random_write_ns),
        curves=tuple(curve for curve in device.loaded_latency if curve.instruction == "load"),
        own_load=len(curve) > 1,
        beside=beside(device, threads),
    )


def far_paper(
    device: DeviceProfile, near: PaperMemory, near_device: DeviceProfile, threads: int = 1
) -> PaperMemory:
    """Return a far memory as one of `threads` on the core of `near` sees it."""
    unwalked_ns = chains_of(near_device, None).get(1, latency_of(near_device))
    walk_ns = near.latency_ns.low - unwalked_ns
    latency_ns = converted_latency(device, near_device, unwalked_ns)
    latency_ns = Span(latency_ns.low + walk_ns, latency_ns.high + walk_ns)
    reads = [best(device, "read"), best(device, "mixed"), best(device, "copy")]
    known = [gb_per_s for gb_per_s in reads if gb_per_s]
    read_ns = Span(
        LINE_BYTES / max(known),
        LINE_BYTES / (best(device, "read") or min(known)) * crowded(device, "read"),
    )
    ratio = max(1.0, latency_ns.high / near.latency_ns.low)
    stream_ns = published_stream(device, near) or Span(
        read_ns.low, max(read_ns.high, near.stream_ns.high * ratio)
    )
    write_ns = write_span(device)
    return PaperMemory(
        name=device.name,
        latency_ns=latency_ns,
        in_flight=near.in_flight,
        stream_ns=stream_ns,
        read_ns=read_ns,
        random_read_ns=random_span(device, "read", read_ns),
        write_ns=write_ns,
        random_write_ns=random_span(device, "nt-store", write_ns),
        curves=tuple(curve for curve in device.loaded_latency if curve.instruction == "load"),
        beside=beside(device, threads),
    )


def published_stream(device: DeviceProfile, near: PaperMemory) -> Span | None:
    """Return a line's time by the figure of one thread: published, or by that of its host's DRAM.

    None without such a figure.
    """
    gb_per_s = best(device, "read", threads=1)
    if not gb_per_s:
        return None
    line_ns = LINE_BYTES / gb_per_s
    host = best(load_device(device.host_dram), "read", threads=1) if device.host_dram else 0.0
    if device.measured:
        return Span(line_ns, line_ns)
    if not host:
        return Span(line_ns, max(line_ns, near.stream_ns.high))
    in_proportion_ns = near.stream_ns.low * host / gb_per_s
    in_proportion_ns = max(in_proportion_ns, LINE_BYTES / best(device, "read"))
    slowest_ns = max(line_ns, in_proportion_ns, near.stream_ns.high)
    return Span(min(line_ns, in_proportion_ns), slowest_ns)


def converted_latency(device: DeviceProfile, near: DeviceProfile, near_ns: float) -> Span:
    """Return the latency as published, plus what near adds, and in proportion to local DRAM."""
    published_ns = latency_of(device)
    if device.host_dram is None:
        # The machine is not known: its path may be as much shorter as near's is longer than usual.
        return Span(published_ns, published_ns)
    host_ns = latency_of(load_device(device.host_dram))
    local_ns = latency_of(load_device(near.host_dram)) if near.host_dram else near_ns
    rules = (published_ns, local_ns + published_ns - host_ns, published_ns * local_ns / host_ns)
    return Span(min(rules), max(rules))


def latency_of(device: DeviceProfile) -> float:
    """Return the idle latency of the largest region, ns; the file lists the best figure first."""
    reads = [f for f in device.latency if (f.operation, f.pattern) == ("read", "random")]
    largest = max(f.region_bytes or 1 << 62 for f in reads)
    return next(f.value_ns for f in reads if (f.region_bytes or 1 << 62) == largest)


def chains_of(device: DeviceProfile, page_bytes: int | None) -> dict[int, float]:
    """Return ns per miss by chains, of these pages, else of the largest."""
    sizes = sorted({f.page_bytes or 0 for f in device.chains})
    wanted = page_bytes if page_bytes in sizes else (sizes or [0])[-1]
    return {f.chains: f.value_ns for f in device.chains if (f.page_bytes or 0) == wanted}


def best(
    device: DeviceProfile,
    operation: str,
    pattern: str = "sequential",
    *,
    threads: int | None = None,
    access_bytes: int | None = None,
) -> float:
    """Return the greatest bandwidth of a kind, GB/s; 0 without a figure."""
    return max(
        (
            f.value_gb_per_s
            for f in device.bandwidth
            if (f.operation, f.pattern) == (operation, pattern)
            and threads in (None, f.threads)
            and access_bytes in (None, f.access_bytes)
        ),
        default=0.0,
    )


def by_threads(device: DeviceProfile, operation: Operation, alone: bool) -> dict[int, float]:
    """Return bandwidths of all threads, GB/s, by their number.

    They are measured as the best of one thread is (`alone`), else as the best of all.
    """
    figures = [
        f
        for f in device.bandwidth
        if (f.operation, f.pattern) == (operation, "sequential") and f.threads
    ]
    first = max(
        (f for f in figures if not alone or f.threads == 1),
        key=lambda f: f.value_gb_per_s,
        default=None,
    )
    return {
        f.threads: f.value_gb_per_s
        for f in figures
        if first is not None
        and f.threads
        and (f.access_bytes, f.page_bytes) == (first.access_bytes, first.page_bytes)
    }


def crowded(device: DeviceProfile, operation: Operation, threads: int | None = None) -> float:
    """Return the best bandwidth over that of too many threads: of the most, if none are given."""
    figures = by_threads(device, operation, alone=False)
    if not figures:
        return 1.0
    counts, gb_per_s = zip(*sorted(figures.items()), strict=True)
    most = counts[gb_per_s.index(max(gb_per_s))]
    at = counts[-1] if threads is None else threads
    return float(max(gb_per_s) / np.interp(at, counts, gb_per_s)) if at > most else 1.0


def beside(device: DeviceProfile, threads: int) -> Span:
    """Return how much longer one core's sequential line takes beside the other threads."""
    figures = by_threads(device, "read", alone=True)
    if 1 not in figures:
        return Span(1.0, 1.0)
    counts, gb_per_s = zip(*sorted(figures.items()), strict=True)
    # Beyond the best number, bandwidth is the limit, not a core.
    at = min(threads, counts[gb_per_s.index(max(gb_per_s))])
    longer = max(1.0, at * figures[1] / float(np.interp(at, counts, gb_per_s)))
    return Span(longer if at in figures else 1.0, longer)


def write_span(device: DeviceProfile) -> Span:
    """Return a written line's time: nt-stores move it alone, stores read it, mixtures share."""
    writes = [best(device, "nt-store"), best(device, "write")]
    mixed = [
        f.value_gb_per_s * (1.0 - (f.read_share or 0.0))
        for f in device.bandwidth
        if f.operation == "mixed" and f.read_share != 1.0
    ]
    known = [gb_per_s for gb_per_s in (*writes, *mixed, best(device, "clwb")) if gb_per_s]
    totals = [gb_per_s for gb_per_s in (*writes, best(device, "mixed")) if gb_per_s]
    # An ordinary store moves two lines: at best, half of its time is the write's.
    slowest_ns = LINE_BYTES / min(known) * crowded(device, "nt-store")
    return Span(LINE_BYTES / max(totals) / 2.0, slowest_ns)


def near_write_ns(device: DeviceProfile, read_ns: float) -> float:
    """Return a written line's time in near memory.

    An nt-store moves its line alone, an ordinary store reads it before, a mixture moves its share.
    """
    if nt_gb_per_s := best(device, "nt-store"):
        return LINE_BYTES / nt_gb_per_s
    if stores_gb_per_s := best(device, "write"):
        line_ns = LINE_BYTES / stores_gb_per_s
        return max(line_ns - read_ns, line_ns / 4.0)
    share, gb_per_s = min(
        (f.read_share or 0.0, f.value_gb_per_s) for f in device.bandwidth if f.operation == "mixed"
    )
    line_ns = LINE_BYTES / gb_per_s
    return max((line_ns - share * read_ns) / (1.0 - share), line_ns / 4.0)


def random_span(device: DeviceProfile, operation: str, sequential: Span) -> Span:
    """Return a random line's time: a medium of larger blocks moves whole blocks."""
    blocks = max(1.0, device.granularity_bytes / LINE_BYTES)
    exact = best(device, operation, "random", access_bytes=LINE_BYTES)
    slowest = LINE_BYTES / exact if exact else sequential.high * blocks
    return Span(sequential.low, max(sequential.high, slowest))
