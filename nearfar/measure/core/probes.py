"""Probes of a core, one method each: a probe samples points and derives figures from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nearfar.base.units import format_bytes
from nearfar.documents.core import CoreFigure, PageWalk
from nearfar.documents.machine import Cache
from nearfar.measure.core.infer import (
    ANOTHER_MISS,
    Knee,
    broken_stick,
    figure_of,
    first_break,
    interval,
    knee_of,
    low,
    measured,
    one_miss,
    resampled,
)
from nearfar.measure.core.subject import HUGE_BYTES, Array, CoreLacksError, CoreSubject

COARSE_TRIALS, TRIALS = 30, 60
LARGEST = 1024
COUNTS = (*range(4, 64, 4), *range(64, LARGEST + 1, 16))
"""Instructions between two misses that are tried first."""
ATTEMPTS = 3
"""Tries to find a knee: other programs may hide it in one try."""
FINE = 24
"""Counts on each side of a coarse knee that are then all tried."""

ALONE = ("move", "vector move", "zero")
"""Fillers that take only a window entry, on cores that rename them away."""
MIXED = ("move", "vector move")
"""Neighbours of different kinds, which may share an entry."""
REGISTERS = {"integer_registers": "lea", "vector_registers": "vector add", "flag_registers": "test"}
BEYOND = 1.25
"""Ratio to the window of the number of mixed fillers that is tried."""
AGREE = 0.02
"""Relative difference up to which two knees count as the same buffer."""

OPERATIONS = {
    "integer_multiply_cycles": "integer multiply",
    "integer_divide_cycles": "integer divide",
    "float_add_cycles": "float add",
    "float_multiply_cycles": "float multiply",
    "float_fma_cycles": "float fma",
    "float_divide_cycles": "float divide",
}
CLOCK_TRIALS = 15
CLOCK_ERROR = 0.02
"""Relative change of a processor's clock from one probe to the next, at least."""

DIVIDE_SETUP_CYCLES = 1.0
"""Cycles of the dependent instruction before each division that makes the dividend large again."""
RESOLVED_CYCLES = 2.0
"""Cycles from a branch's entry until its direction is known: a shift, and the branch itself."""
MOST_CHAINS = 64

OUTER = 2
"""Outermost level that may be private: a virtual machine with one CPU lists all as private."""
DISTURBED = 0.2
"""Relative width of an interval beyond which other programs' use of the cache is in its latency."""

LINE = 64
WALKS = {4096: (4 << 20, 16 << 20, 64 << 20, 256 << 20), HUGE_BYTES: (64 << 20, 256 << 20)}
"""Footprints by page size."""

STREAM, STREAM_TRIALS = 48, 100
AHEAD = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128)
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
STRIDES = (64, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192)
STRIDED_LENGTH = 12
USUALLY = (0.9, 0.5, 0.1)
"""Shares of trials in which a line was prefetched: almost always, usually, sometimes."""
FAR_AWAY = (1, 4096 + LINE, 9)
"""Length, stride and distance of a stream whose last read no prefetcher expects."""


LEVELS = ("first_level_cycles", "second_level_cycles", "last_level_cycles")
PREFETCHES = (
    "prefetch_start_lines",
    "prefetch_distance_lines",
    "prefetch_stride_bytes",
    "prefetch_next_page",
)


class CoreProbes:
    """Figures of one core as they become known, and the reasons for those that were not seen."""

    def __init__(
        self, core: CoreSubject, caches: Sequence[Cache] = (), threads_per_core: int = 1
    ) -> None:
        self.core = core
        self.figures: dict[str, CoreFigure] = {}
        self.not_seen: dict[str, str] = {}
        self.walks: list[PageWalk] = []
        self._caches = [cache for cache in caches if cache.type != "instruction"]
        self._threads_per_core = threads_per_core

    def clock(self) -> None:
        """Time additions, each on the result of the one before: one cycle on every known core."""
        times = self.core.dependent("integer add", TRIALS)
        self.figures["frequency_ghz"] = measured(times, lambda sample: 1.0 / float(low(sample)))
        self.figures["integer_add_cycles"] = CoreFigure(
            value=1.0, how="assumed", note="the cycle is that of a dependent addition"
        )

    def width(self) -> None:
        """Count instructions per cycle of the fastest filler; NOPs may not enter the window."""
        kinds = [*ALONE, *REGISTERS.values()]
        rates = [
            self._in_cycles(
                partial(self.core.throughput, kind, TRIALS), lambda times: float(1.0 / low(times))
            )
            for kind in kinds
        ]
        self.figures["width"] = max(rates, key=lambda figure: figure.value)

    def window(self) -> None:
        """Find the knee of each kind of filler; the largest knee is the window's.

        A kind may fill a register file before the window, but no kind has more instructions in
        flight than the window. Kinds are not mixed, because neighbours of different kinds may share
        an entry.
        """
        knees = {kind: self._knee([kind]) for kind in (*ALONE, *REGISTERS.values())}
        sizes = {kind: figure for kind, (_, figure) in knees.items() if figure is not None}
        if not sizes:
            self.not_seen["reorder_window"] = f"no knee up to {LARGEST} instructions"
            return
        largest = max(sizes, key=lambda kind: sizes[kind].value)
        # Two misses are in the window, too.
        window = _shifted(sizes[largest], 2.0)
        agreeing = [kind for kind in sizes if sizes[kind].value > (1 - AGREE) * window.value - 2]
        if len(agreeing) > 1:
            note = f"fillers {', '.join(agreeing)} agree"
        else:
            note = f"at least: {largest} alone has this many in flight"
        beyond = round(BEYOND * window.value)
        alone, mixed = (
            float(low(self.core.overlap(kinds, [beyond], TRIALS))[0])
            for kinds in ([largest], MIXED)
        )
        if mixed < (1.0 + ANOTHER_MISS) / 2.0 * alone:
            note += f"; neighbours of different kinds share entries: {beyond} of them still fit"
        self.figures["reorder_window"] = _shifted(window, 0.0, note)
        for key, kind in REGISTERS.items():
            taken = 2.0 if kind == "lea" else 0.0  # by the misses
            if kind in agreeing:
                self.not_seen[key] = "the window is full first"
            elif kind not in sizes:
                self.not_seen[key] = f"no knee up to {LARGEST} instructions"
            else:
                self.figures[key] = _shifted(sizes[kind], taken)

    def store_buffer(self) -> None:
        """Find the knee of stores that hit the first-level cache."""
        self._probe_buffer("store_buffer", "store", 0.0)

    def load_buffer(self) -> None:
        """Find the knee of loads that hit the first-level cache, and add the two that miss."""
        self._probe_buffer("load_buffer", "load", 2.0)

    def miss_buffers(self) -> None:
        """Find how many misses in parallel take as long as one."""
        counts = list(range(1, MOST_CHAINS + 1))
        times = self.core.chains(counts, TRIALS)
        knee = broken_stick(counts, low(times))
        if knee is None:
            self.not_seen["miss_buffers"] = f"up to {MOST_CHAINS} misses take as long as one"
            return
        values = resampled(times, lambda sample: broken_stick(counts, low(sample)), resamples=40)
        note = "or the number that the outer levels allow one core"
        self.figures["miss_buffers"] = figure_of(knee, interval([knee, *values]), 0.5, note)

    def mispredict(self) -> None:
        """Compare branches in one direction with random ones, half of which are mispredicted."""
        self.figures["mispredict_cycles"] = self._in_cycles(
            partial(self.core.branches, TRIALS),
            lambda both: 2.0 * float(low(both[1]) - low(both[0])) - RESOLVED_CYCLES,
        )

    def arithmetic(self) -> None:
        """Time chains of dependent operations."""
        for key, operation in OPERATIONS.items():
            setup = DIVIDE_SETUP_CYCLES if operation == "integer divide" else 0.0
            try:
                figure = self._in_cycles(
                    partial(self.core.dependent, operation, TRIALS), lambda times: float(low(times))
                )
                self.figures[key] = _shifted(figure, -setup)
            except CoreLacksError as error:
                self.not_seen[key] = str(error)

    def levels(self) -> None:
        """Time reads that each cache answers, and determine which caches are private."""
        private = [
            cache.size_bytes
            for cache in self._caches
            if cache.level <= OUTER and len(cache.shared_by_cpus) <= self._threads_per_core
        ]
        if private:
            listed = CoreFigure(
                value=max(private), how="measured", source="nearfar", note="as the system lists it"
            )
            self.figures["private_bytes"] = listed
        last = max((cache.level for cache in self._caches), default=0)
        inner = 0
        for key, level in (("first", 1), ("second", 2), ("last", last)):
            sizes = [cache.size_bytes for cache in self._caches if cache.level == level]
            if not sizes or (key == "last" and last < 3):
                self.not_seen[f"{key}_level_cycles"] = "the system lists no such cache"
                continue
            # Well within this level, which other programs use too, but beyond the level before it.
            region = min(max(max(sizes) // 4, 2 * inner), 4 * inner or max(sizes))
            inner = max(sizes)
            figure = self._in_cycles(
                partial(self.core.chase, LINE, region // LINE, HUGE_BYTES, TRIALS),
                lambda times: float(low(times)),
            )
            ends = figure.range
            if ends[1] - ends[0] > DISTURBED * figure.value:
                self.not_seen[f"{key}_level_cycles"] = (
                    f"{ends[0]:.0f} to {ends[1]:.0f} cycles: other programs use this cache"
                )
            else:
                self.figures[f"{key}_level_cycles"] = figure

    def page_walks(self) -> None:
        """Compare reads of one line per page with reads of as many adjacent lines."""
        for page_bytes, footprints in WALKS.items():
            for footprint in footprints:
                count = footprint // page_bytes
                try:
                    spread = self.core.chase(page_bytes, count, page_bytes, TRIALS)
                    dense = self.core.chase(LINE, count, HUGE_BYTES, TRIALS)
                except CoreLacksError as error:
                    self.not_seen[f"page_walks of {format_bytes(footprint)}"] = str(error)
                    continue
                walk = measured(
                    np.stack([spread, dense]),
                    lambda both: max(0.0, float(low(both[0]) - low(both[1]))),
                )
                self.walks.append(
                    PageWalk(page_bytes=page_bytes, footprint_bytes=footprint, walk_ns=walk)
                )

    def prefetchers(self) -> None:
        """Read beyond the end of a stream: lines that arrive as fast as hits were prefetched."""
        hit_ns, miss_ns = (
            float(np.median(self.core.after_stream(*shape, STREAM_TRIALS)))
            for shape in ((STREAM, LINE, 0), FAR_AWAY)
        )
        if hit_ns > miss_ns / 2:
            raise CoreLacksError(
                f"a read from a cache takes {hit_ns:.0f} ns, one from memory {miss_ns:.0f} ns"
            )
        limit = (hit_ns + miss_ns) / 2

        def share(length: int, stride: int, ahead: int, *, at_end: bool = False) -> float:
            times = self.core.after_stream(length, stride, ahead, STREAM_TRIALS, at_page_end=at_end)
            return float(np.mean(times < limit))

        starts = {-length: share(length, LINE, 1) for length in LENGTHS}
        if max(starts.values()) < USUALLY[1]:
            raise CoreLacksError(f"no line was prefetched within {LENGTHS[-1]} reads")
        self._note_farthest("prefetch_start_lines", starts)
        distances = {ahead: share(STREAM, LINE, ahead) for ahead in AHEAD}
        self._note_farthest("prefetch_distance_lines", distances)
        strides = {stride: share(STRIDED_LENGTH, stride, 1) for stride in STRIDES}
        self._note_farthest("prefetch_stride_bytes", strides)
        crosses = share(STREAM, LINE, 1, at_end=True) > USUALLY[1]
        self.figures["prefetch_next_page"] = CoreFigure(
            value=float(crosses), how="measured", source="nearfar", note="within one huge page"
        )

    def _in_cycles(
        self, sample: Callable[[], Array], statistic: Callable[[Array], float]
    ) -> CoreFigure:
        """Return a statistic of times in cycles; the clock is taken before and after them."""
        before = self._cycle_ns()
        times = sample()
        after = self._cycle_ns()
        cycle_ns = (before + after) / 2.0
        figure = measured(times / cycle_ns, statistic)
        drift = max(CLOCK_ERROR, abs(after / before - 1.0)) * abs(figure.value)
        return figure_of(figure.value, (figure.range[0] - drift, figure.range[1] + drift))

    def _cycle_ns(self) -> float:
        return float(low(self.core.dependent("integer add", CLOCK_TRIALS)))

    def _knee(self, fillers: Sequence[str]) -> tuple[Knee | None, CoreFigure | None]:
        """Return the knee of a filler; None where up to `LARGEST` do not fill any buffer."""
        for _ in range(ATTEMPTS):
            knee, figure = self._knee_once(fillers)
            if knee is not None:
                break
        return knee, figure

    def _knee_once(self, fillers: Sequence[str]) -> tuple[Knee | None, CoreFigure | None]:
        coarse = low(self.core.overlap(fillers, COUNTS, COARSE_TRIALS))
        index = first_break(COUNTS, coarse)
        if index is None:
            return None, None
        middle = (COUNTS[index - 1] + COUNTS[index]) // 2
        near = list(range(max(1, middle - FINE), middle + FINE + 1))
        times = self.core.overlap(fillers, near, TRIALS)
        miss = one_miss(coarse)
        knee = knee_of(near, low(times), miss)
        if knee is None:
            return None, None

        def ever(sample: Array) -> float | None:
            again = knee_of(near, low(sample), miss)
            return None if again is None else again.ever

        ends = interval([knee.ever, *resampled(times, ever)])
        return knee, figure_of(knee.ever, (min(ends[0], knee.always), ends[1]), 1.0)

    def _probe_buffer(self, key: str, filler: str, more: float) -> None:
        knee, figure = self._knee([filler])
        window = self.figures.get("reorder_window")
        if knee is None or figure is None:
            self.not_seen[key] = f"no knee up to {LARGEST} instructions"
        elif window is not None and knee.ever + 2 > (1 - AGREE) * window.value:
            self.not_seen[key] = "the window is full first"
        else:
            self.figures[key] = _shifted(figure, more)

    def _note_farthest(self, key: str, shares: dict[int, float]) -> None:
        """Note the figure `key`: the last value, ascending, whose line was usually prefetched.

        `shares` are shares of trials by value. Lengths are negative, so that the shortest is last.
        """
        low_end, value, high_end = (_last_above(shares, usual) for usual in USUALLY)
        if value is None or high_end is None:
            self.not_seen[key] = "nothing comes before it is asked for"
            return
        ends = [abs(value if low_end is None else low_end), abs(high_end)]
        note = "the last that was tried" if value == max(shares) and value > 0 else ""
        self.figures[key] = figure_of(abs(value), (min(ends), max(ends)), note=note)


def _last_above(shares: dict[int, float], least: float) -> int | None:
    """Return the last value, ascending, up to which all shares are at least `least`; None: none."""
    reached = None
    for value in sorted(shares):
        if shares[value] < least:
            break
        reached = value
    return reached


PROBES: list[tuple[str, Callable[[CoreProbes], None], tuple[str, ...]]] = [
    ("clock", CoreProbes.clock, ("frequency_ghz",)),
    ("width", CoreProbes.width, ("width",)),
    ("reorder window", CoreProbes.window, ("reorder_window", *REGISTERS)),
    ("store buffer", CoreProbes.store_buffer, ("store_buffer",)),
    ("load buffer", CoreProbes.load_buffer, ("load_buffer",)),
    ("miss buffers", CoreProbes.miss_buffers, ("miss_buffers",)),
    ("branches", CoreProbes.mispredict, ("mispredict_cycles",)),
    ("arithmetic", CoreProbes.arithmetic, tuple(OPERATIONS)),
    ("cache levels", CoreProbes.levels, LEVELS),
    ("page walks", CoreProbes.page_walks, ("page_walks",)),
    ("prefetchers", CoreProbes.prefetchers, PREFETCHES),
]
"""Probes in their order: name, method, and the figures that are missing if the probe cannot run."""


def _shifted(figure: CoreFigure, more: float, note: str = "") -> CoreFigure:
    low_end, high_end = figure.range
    return figure_of(figure.value + more, (low_end + more, high_end + more), note=note)
