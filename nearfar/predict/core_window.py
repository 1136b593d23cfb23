"""The out-of-order core behind the near memory's profile, in the units of the native window.

Its figures are those of `CoreFigures`. The length of a cycle follows from the first-level cache's
latency, and the growth of latency with misses in flight from the chains curve.

What the figures do not determine is one of the window's unknowns (`CoreUnknowns`): a factor that
is known up to a logarithmic standard deviation. `window_fit` solves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, hypot, log

from nearfar._window import MOST_IN_FLIGHT, Core, Medium
from nearfar.documents.core import CoreFigure, CoreFigures
from nearfar.predict.core_time import has_prefetcher
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts

HALF_RANGE = 1.645
"""Standard deviations from the middle to each end of a 90 % interval."""

PREFETCHED_IN_VAIN = 0.1
"""Lines that a prefetcher fetches and nothing uses, over lines not in streams. Estimated by eye as
the median of the ten cycle-level kernels' reads from memory over their misses, 0 to 0.8."""

DECODED_CYCLES = {"integer_multiply_cycles": 3, "float_add_cycles": 4, "float_multiply_cycles": 4}
"""Cycles that bursts assume, by the name of the core's figure for them."""


@dataclass(frozen=True)
class CoreUnknowns:
    """Deviations from the figures, as logarithms; a value above 0 increases time."""

    window: float = 0.0
    """Reduction of the number of instructions in the window."""
    work: float = 0.0
    """Cycles per instruction."""
    arithmetic: float = 0.0
    """Cycles of computation beyond the first; a difference, not a logarithm."""
    mispredicted: float = 0.0
    caches: float = 0.0
    """Latencies of the caches behind the first."""
    stores: float = 0.0
    """Reduction of the number of stores in flight."""
    clock: float = 0.0
    """Length of a cycle."""
    latency: float = 0.0
    """Latency of the program's misses, over that of the chase that measured it."""
    lines: float = 0.0
    """Bandwidth time of a line."""
    stream: float = 0.0
    """Time of a line that a prefetcher fetches."""


@dataclass(frozen=True)
class PhaseLines:
    """Properties of a phase's lines that the memory of a window needs."""

    sequential: float
    """Share of lines read in sequence."""
    written: float
    """Lines written back per line read."""
    streams: float
    """Number of streams that advance together."""
    threads: float
    """Mean number of threads that share the bandwidth."""


def deviations(figures: CoreFigures, near: MemoryCosts, lines: PhaseLines) -> CoreUnknowns:
    """Return the standard deviation of each unknown.

    The figures' ranges are 90 % intervals. Effects without a figure are added: fused or split
    instructions, ports and fetch (`work`); the branch predictor (`mispredicted`); open rows and
    page walks (`latency`); the pattern of lines on the bus and bandwidths measured with one core
    only (`lines`); the number of streams that a prefetcher follows (`stream`).
    """
    prefetched = has_prefetcher(near)
    at_once = log(_relative_in_flight(near, lines)) / HALF_RANGE
    return CoreUnknowns(
        window=hypot(_log_deviation(figures.reorder_window), 0.1),
        work=hypot(_log_deviation(figures.width), 0.2),
        arithmetic=0.2,
        mispredicted=hypot(_log_deviation(figures.mispredict_cycles), 0.3),
        caches=hypot(_log_deviation(figures.last_level_cycles), 0.15),
        stores=hypot(_log_deviation(figures.store_buffer), 0.2),
        clock=_log_deviation(figures.first_level_cycles),
        latency=0.1 if prefetched else 0.05,
        lines=0.1 + 0.2 * lines.sequential + 0.2 * near.of_one_core,
        stream=hypot(0.2, at_once) if prefetched else 0.0,
    )


def core(
    figures: CoreFigures, unknown: CoreUnknowns, miss_buffers: int, shared_cycles: float = 0.0
) -> Core:
    """Return a core with all figures of the window.

    `shared_cycles` are added to the last level's latency.
    """
    caches, entries = exp(unknown.caches), figures.load_compute_entries
    decoded = [
        (_value(getattr(figures, key)) - 1.0) / (cycles - 1.0)
        for key, cycles in DECODED_CYCLES.items()
    ]
    return Core(
        window=max(1, round(_value(figures.reorder_window) * exp(-unknown.window))),
        width=_value(figures.width) * exp(-unknown.work),
        store_buffer=max(1, round(_value(figures.store_buffer) * exp(-unknown.stores))),
        miss_buffers=miss_buffers,
        computing=1 if entries is None else round(entries.value),
        arithmetic=max(0.0, sum(decoded) / len(decoded) + unknown.arithmetic),
        first_level=_value(figures.first_level_cycles),
        second_level=_value(figures.second_level_cycles) * caches,
        last_level=_value(figures.last_level_cycles) * caches + shared_cycles,
        mispredicted=_value(figures.mispredict_cycles) * exp(unknown.mispredicted),
    )


def miss_buffers(near: MemoryCosts, memory: MemoryCosts) -> int:
    """Return the number of miss buffers: the core's figure, or what chains curves show."""
    shown = max(_max_parallelism(near), _max_parallelism(memory))
    return min(round(max(_value(near.core.miss_buffers), shown)), MOST_IN_FLIGHT)


def private_bytes(figures: CoreFigures) -> float:
    """Return the size of the largest private cache of a core."""
    return _value(figures.private_bytes)


def cycle_ns(near: MemoryCosts) -> float:
    """Return the length of a cycle of the core that `near` was measured on."""
    return near.hit_ns / _value(near.core.first_level_cycles)


@lru_cache(maxsize=1024)
def medium(
    memory: MemoryCosts, near: MemoryCosts, lines: PhaseLines, buffers: int, unknown: CoreUnknowns
) -> Medium:
    """Return a memory in cycles of the core that `near` was measured on."""
    cycle = cycle_ns(near) * exp(unknown.clock)
    prefetched = has_prefetcher(near)
    # By Little's law, k misses in flight that cost c each wait k * c. With all buffers in use, each
    # waits the least cost times the number of buffers.
    full_ns = buffers * memory.cost_ns(MAX_CHAINS)
    most_ns = max(full_ns, memory.latency_ns)
    latency_ns = [min(k * memory.cost_ns(k), most_ns) for k in range(1, buffers)]
    latency_ns += [full_ns] * (MOST_IN_FLIGHT + 1 - buffers)
    read_ns, write_ns = (
        ns[1] * lines.sequential + ns[0] * (1.0 - lines.sequential)
        for ns in (memory.read_ns, memory.write_ns)
    )
    if prefetched:
        read_ns *= 1.0 + PREFETCHED_IN_VAIN * (1.0 - lines.sequential)
    # A bandwidth may have been measured with fewer lines in flight than the program has. The more
    # the far memory itself limited its chains, the less its bandwidth depends on what limited
    # near's.
    alike = min(_max_parallelism(memory) / _max_parallelism(near), 1.0) ** 4
    bus = lines.threads * exp(unknown.lines * alike)
    stream_ns = memory.stream_ns(_relative_in_flight(near, lines), lines.streams) * lines.streams
    waiting = exp(unknown.latency) / cycle
    return Medium(
        latency=[wait_ns * waiting for wait_ns in latency_ns],
        line=read_ns * bus / cycle,
        write=write_ns * bus / cycle,
        write_back=write_ns * lines.written * bus / cycle,
        stream=stream_ns * exp(unknown.stream) / cycle if prefetched else 0.0,
    )


def _relative_in_flight(near: MemoryCosts, lines: PhaseLines) -> float:
    """Return the lines in flight of concurrent streams, relative to those of one stream.

    A published bandwidth of one core is all that it draws, in one stream or in several.
    """
    return max(lines.streams, 1.0) ** 0.5 if near.chains_measured else 1.0


def _max_parallelism(memory: MemoryCosts) -> float:
    """Return the most misses in flight that chains show: latency over the least cost of a miss.

    The value is small if bandwidth limits chains.
    """
    return memory.latency_ns / memory.cost_ns(MAX_CHAINS)


def _log_deviation(figure: CoreFigure | None) -> float:
    """Return the logarithmic standard deviation that a figure's range implies."""
    assert figure is not None
    low, high = figure.range
    return log(high / low) / (2.0 * HALF_RANGE) if high > low > 0.0 else 0.0


def _value(figure: CoreFigure | None) -> float:
    if figure is None:
        raise AssertionError("the library's span completes every core")
    return figure.value
