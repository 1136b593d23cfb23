"""The write queue: bursts of persisted lines, once with rests between them and once without.

Without rests a full queue makes each burst last as long as its lines take to drain. After a rest
the queue is empty and takes the first lines as fast as they are issued; from then on a burst waits
for all its lines but those that the queue holds. So the two curves are one curve, shifted by the
size of the queue, however unevenly lines drain. The processor's own buffers are no such queue:
a fence empties them, so rests change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.documents.device import InterleaveFigure, WriteQueueFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings, make_evidence
from nearfar.measure.infer.levels import MODEL_ERROR
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.samples.point import SamplePoint

KERNELS = ("persist-nt-store", "persist-clflushopt", "persist-clwb")
"""Kernels in order of preference: the later ones also pass the caches' queues."""

LARGEST_LINES = 256
"""Largest burst: what the persist kernels write in one access."""

MAX_WITHIN = 64
"""Largest burst within a granule of interleaved devices: all sizes up to it are tested."""

MIN_SIZES = 8
"""Sizes of bursts below which no curve can be fitted."""

REST_NS = 60_000.0
"""Least rest between bursts, for 256 lines at 200 ns: the slowest published medium."""

REST_RATIO = 1.5
"""Ratio of the rest to the time in which the largest burst drains."""

BURSTS_NS = 12e6
"""Time of the rests of one sample."""

MIN_BURSTS = 40
"""Least number of bursts in a sample, however long the rests are."""

DRIVEN_LINES, MIN_DRIVEN = 20_000, 100
"""Lines of a sample without rests, a millisecond or two, and its least number of bursts."""

PLAN_SAMPLES = 800
"""Samples of one plan: some ten seconds, half of them with rests."""

LEAST_NS = 0.1
"""Least time of a burst: no timer reads less."""

MIN_AGREEMENT = 0.8
EVIDENCE = "write-queue"

MIN_GAIN = 20.0
"""Chi-square that the queue must win over even bursts, in units of log(points)."""

MAX_CHI_SQUARE = 1.5
"""Chi-square per size beyond which no queue explains the bursts."""

MIN_DRAIN_RATIO = 1.15
"""Ratio of a burst without rests to its issue from which its lines, not the fences, take the
time."""

MIN_BEYOND = 4
"""Sizes of bursts that must overflow the queue."""

MIN_SAVED_SHARE = 0.25
"""Share of a single write that a rest must save each burst that overflows the queue."""


def write_kernel(probe: InferenceProbe) -> str | None:
    """Return the kernel of non-temporal writes, or None."""
    return next((kernel for kernel in KERNELS if kernel in probe.facts.kernels), None)


@dataclass(frozen=True)
class BurstPlan:
    """Sizes of bursts and the place of each."""

    lines: tuple[int, ...]
    """Ascending; the first is one line."""
    stride_bytes: int = 0
    """Distance of bursts; 0: they follow each other, in random order."""
    queues: int = 1
    """Number of queues that share the lines of a burst equally."""


def burst_plans(interleaves: Sequence[InterleaveFigure]) -> list[BurstPlan]:
    """Return the bursts to test, best first, for the interleaving of the memory.

    Odd numbers of lines begin at any place of a block, so that the time in which they drain rises
    evenly. Bursts on interleaved devices begin at a granule and stay in it, or load all devices
    equally by an odd number of granules.
    """
    steps = [*range(1, 16, 2), *range(19, 32, 4), *range(37, 64, 8)]
    steps += [*range(73, 128, 16), *range(135, LARGEST_LINES, 12)]
    if not interleaves:
        return [BurstPlan(tuple(steps))]
    interleave = interleaves[0]
    around = interleave.devices * interleave.granularity_bytes
    granule, all_lines = interleave.granularity_bytes // LINE_BYTES, around // LINE_BYTES
    plans = [
        # All sizes, since each first line of a block may make a step here.
        BurstPlan(tuple(range(1, min(granule, MAX_WITHIN) + 1)), around),
        BurstPlan((1, *range(all_lines, LARGEST_LINES + 1, 2 * all_lines)), 0, interleave.devices),
    ]
    return [plan for plan in plans if len(plan.lines) >= MIN_SIZES]


def infer_queue(probe: InferenceProbe, findings: Findings) -> None:
    """Add the write queue."""
    kernel = write_kernel(probe)
    if kernel is None:
        findings.not_seen["write queue"] = "this processor has no stores that pass the caches"
        return
    reason = "no burst stays on one of the interleaved devices or loads all of them equally"
    for plan in burst_plans(findings.interleaves):
        reason = _try_plan(probe, kernel, plan, findings)
        if findings.write_queues:
            return
    findings.not_seen["write queue"] = reason


def _try_plan(probe: InferenceProbe, kernel: str, plan: BurstPlan, findings: Findings) -> str:
    """Add the queue that the bursts of `plan` show; return the reason if there is none."""
    page, step = probe.facts.page_sizes[0], plan.stride_bytes or 4096
    driven_points = [
        SamplePoint(
            "queue", kernel, page, probe.facts.largest_bytes // step * step,
            access_bytes=lines * LINE_BYTES, stride_bytes=plan.stride_bytes,
            accesses=max(DRIVEN_LINES // lines, MIN_DRIVEN),
        )
        for lines in plan.lines
    ]  # fmt: skip
    most = PLAN_SAMPLES // (2 * len(plan.lines))
    repetitions = min(max(most, probe.repetitions), 2 * probe.repetitions)
    driven = probe.gather(driven_points, repetitions)
    if not all(map(len, driven)):
        return probe.too_few("bursts")
    rest_ns = max(REST_NS, REST_RATIO * float(np.median(driven[-1])))
    bursts = max(round(BURSTS_NS / rest_ns), MIN_BURSTS)
    rested = probe.gather(
        [replace(point, rest_ns=rest_ns, accesses=bursts) for point in driven_points],
        repetitions,
    )
    if not all(map(len, rested)):
        return probe.too_few("bursts")
    lines = np.array(plan.lines, dtype=float)
    noise = median_noise([*rested, *driven])
    knee = find_queue(lines, medians(rested), medians(driven), noise, plan.queues)
    for name, title, samples, fitted in (
        (EVIDENCE, "Bursts of persisted writes after rests", rested, knee.fitted),
        (f"{EVIDENCE}-driven", "Bursts of persisted writes without rests", driven, None),
    ):
        findings.evidence[name] = make_evidence(
            "queue",
            title,
            ("lines in a burst", "time (ns per burst)"),
            lines,
            samples,
            knees=[knee.knee_lines] if knee.lines else [],
            fitted=fitted,
            log_x=False,
        )
    return _add_queue(plan, rested, driven, knee, findings) if knee.lines else knee.why_not


def _add_queue(
    plan: BurstPlan,
    rested: list[NDArray[np.float64]],
    driven: list[NDArray[np.float64]],
    knee: QueueKnee,
    findings: Findings,
) -> str:
    """Add the queue if resamples agree on it; return the reason if they do not."""
    assert knee.lines is not None
    seen, count = knee.lines, len(plan.lines)
    # A resample scatters around medians that scatter around the truth.
    noise = median_noise([*rested, *driven]) * np.sqrt(2)
    lines = np.array(plan.lines, dtype=float)
    share, answers = agreement(
        [*rested, *driven],
        lambda row: find_queue(lines, row[:count], row[count:], noise, plan.queues).lines,
        lambda size: size is not None and abs(size - seen) <= max(AGREE_WITHIN * seen, 1),
    )
    if share < MIN_AGREEMENT:
        return f"seen in only {share:.0%} of resamples"
    low, high = np.percentile([size for size in answers if size is not None], (2.5, 97.5))
    findings.write_queues.append(
        WriteQueueFigure(
            capacity_bytes=seen * LINE_BYTES,
            capacity_low_bytes=max(min(seen - 1, int(low)), 1) * LINE_BYTES,
            capacity_high_bytes=max(seen + 1, int(np.ceil(high))) * LINE_BYTES,
            drained_ns_per_line=knee.drain_ns,
            confidence=share,
            evidence=EVIDENCE,
            **MEASURED_HERE,
        )
    )
    return ""


AGREE_WITHIN = 0.09
"""Relative difference of sizes that agree; a line for the smallest."""


@dataclass(frozen=True)
class QueueKnee:
    """The queue that curves of bursts show, or why there is none."""

    lines: int | None
    """Size of one queue."""
    why_not: str = ""
    knee_lines: float = 0.0
    """Lines at which the curve bends."""
    drain_ns: float = 0.0
    """Time in which one queue drains a line, on average."""
    fitted: NDArray[np.float64] | None = None


def find_queue(
    lines: NDArray[np.float64],
    rested_ns: NDArray[np.float64],
    driven_ns: NDArray[np.float64],
    noise: float,
    queues: int = 1,
) -> QueueKnee:
    """Return the queue that ns per burst of `lines` (ascending) show, with rests and without.

    `queues` is the number of queues that share the lines of a burst equally.
    """
    relative = float(np.hypot(noise, MODEL_ERROR))
    even = _straight(lines, rested_ns, np.array([len(lines)]))
    best = _best_shift(lines, rested_ns, driven_ns, relative, queues)
    if best is None:
        return QueueKnee(None, "lines drain as fast as the processor issues them", fitted=even[0])
    saved = driven_ns - rested_ns
    over = best.fitted > MIN_DRAIN_RATIO * best.issued
    no_queue = min(
        float(np.square((rested_ns - other) / _sigma(relative, rested_ns, scale)).sum())
        for other, scale in ((even[0], 0.0), (driven_ns, driven_ns))
    )
    if no_queue - best.chi_square < MIN_GAIN * np.log(len(lines)) or over.sum() < MIN_BEYOND:
        return QueueKnee(
            None, f"ns per burst rises evenly up to {lines[-1]:.0f} lines, or alike with rests and "
            "without", fitted=best.fitted,
        )  # fmt: skip
    if float(np.median(saved[over])) < MIN_SAVED_SHARE * rested_ns[0]:
        return QueueKnee(
            None, f"a rest saves {np.median(saved[over]):.0f} ns of the next burst where a single "
            f"write takes {rested_ns[0]:.0f} ns: the processor's own buffers explain it",
            fitted=best.fitted,
        )  # fmt: skip
    if best.chi_square > MAX_CHI_SQUARE * len(lines):
        return QueueKnee(None, "no size of a queue explains the bursts", fitted=best.fitted)
    knee_lines = float(lines[over][0])
    return QueueKnee(best.held // queues, "", knee_lines, best.drain_ns * queues, best.fitted)


@dataclass(frozen=True)
class _Shift:
    """A fit of bursts after rests by those without, shifted by the lines that the queue holds."""

    held: int
    chi_square: float
    fitted: NDArray[np.float64]
    issued: NDArray[np.float64]
    """ns per burst if the queue took all of it."""
    drain_ns: float


def _best_shift(
    lines: NDArray[np.float64],
    rested_ns: NDArray[np.float64],
    driven_ns: NDArray[np.float64],
    relative: float,
    queues: int,
) -> _Shift | None:
    """Return the best fit of any size of the queue; None: too few bursts wait for their lines."""
    held = np.arange(1, int(lines[-1]) // queues) * queues
    # What fits into the queue costs only its issue, whatever the queue's size.
    issued = _straight(lines, rested_ns, np.maximum(np.searchsorted(lines, held, side="right"), 2))
    # Where fences take the time, the lines drain in less than the burst lasts.
    waits = driven_ns > MIN_DRAIN_RATIO * _straight(lines, rested_ns, np.array([3]))[0]
    first = 0 if waits.all() else len(lines) - int(np.argmin(waits[::-1]))
    if len(lines) - first < MIN_BEYOND:
        return None
    sizes, times = lines[first:], driven_ns[first:]
    drain_ns, first_ns = np.polyfit(sizes, times, 1, w=1 / np.maximum(times, LEAST_NS))
    waiting = lines - held[:, None]
    drained = np.where(
        waiting < sizes[0], drain_ns * waiting + first_ns, np.interp(waiting, sizes, times)
    )
    drained = np.where(waiting > 0, drained, 0.0)
    fitted = np.maximum(issued, np.where(waiting > 0, issued[:, :1] + drained, 0.0))
    sigma = _sigma(relative, rested_ns, np.where(fitted > issued, drained, 0.0))
    chi_squares = np.square((rested_ns - fitted) / sigma).sum(axis=1)
    best = int(np.argmin(chi_squares))
    return _Shift(
        int(held[best]), float(chi_squares[best]), fitted[best], issued[best], float(drain_ns)
    )


def _sigma(
    relative: float, burst_ns: NDArray[np.float64], other_ns: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the error in ns of the difference of times with equal relative errors."""
    error: NDArray[np.float64] = relative * np.maximum(np.hypot(burst_ns, other_ns), LEAST_NS)
    return error


def _straight(
    lines: NDArray[np.float64], burst_ns: NDArray[np.float64], counts: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Fit a rising line to the first bursts, of equal relative errors: a row for each of `counts`.

    Return the lines at all sizes.
    """
    # A coarse timer may read nothing.
    weight = 1 / np.maximum(burst_ns, LEAST_NS) ** 2
    ends = counts - 1
    sums, by_lines, by_squares, by_ns, by_both = (
        np.cumsum(weight * value)[ends]
        for value in (np.ones(len(lines)), lines, lines**2, burst_ns, lines * burst_ns)
    )
    slope = (sums * by_both - by_lines * by_ns) / (sums * by_squares - by_lines**2)
    # Neither the first line nor a further one takes less than no time.
    slope = np.clip(slope, 0.0, by_both / by_squares)
    base = np.maximum((by_ns - slope * by_lines) / sums, 0.0)
    return base[:, None] + slope[:, None] * lines
