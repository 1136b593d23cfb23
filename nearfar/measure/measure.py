"""One measurement of one memory, from spec to DeviceProfile, part by part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.documents import DeviceProfile, producer
from nearfar.measure import drift, environment, room
from nearfar.measure.assemble import Assembly, assemble
from nearfar.measure.instrument import InstrumentWatch
from nearfar.measure.open_subject import open_memory
from nearfar.measure.parts import (
    FULL_S,
    QUICK_PARTS,
    QUICK_S,
    SHARES,
    TimeBudget,
    run_parts,
    share_out,
)
from nearfar.measure.quiet import disputed, is_noisy, refuse_noise
from nearfar.measure.recorder import Recorder
from nearfar.measure.rounds import MIN_ROUNDS, MIN_SAMPLES, RoundLimits, Rounds, run_rounds
from nearfar.measure.settings import Progress, ignore, no_progress, resume_settings, samples_path
from nearfar.measure.subject import OpenedMemory
from nearfar.measure.surfaces import SURFACES, Surface, SurfacePlan, all_surfaces
from nearfar.memories.spec import parse_spec
from nearfar.options.measure import MeasureOptions
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore, header, store_path

SAMPLE_S = 0.025
"""Time that is subtracted from the budget for each sample of an earlier run: some 20 ms, and its
warm-up."""

TAIL_S = 1.0
"""Time reserved for computing after the last sample."""

MIN_BUDGET_S = 1e-6
"""Budget of a measurement whose time is already over: shorter than any round, but not 0, which
would leave its parts out."""

QUICK_DISPUTED_SAMPLES = 6
"""Samples that a disputed point gets with --quick, at least: then one disturbed sample in each half
changes no median."""

QUICK_HALF_WIDTH = 0.03
"""Relative half-width at which a short measurement stops sampling a point. It is enough, because
predictions of memory-bound programs have intervals of 20 % and more."""


@dataclass
class Measurement:
    """A profile with its evidence and samples."""

    device: DeviceProfile
    evidence: dict[str, Evidence] = field(default_factory=dict)
    store: SampleStore | None = None
    """Open store; the caller writes the Parquet file and discards it."""

    def discard_store(self) -> None:
        """Remove the store, which only an interrupted measurement needs."""
        if self.store is not None:
            self.store.discard()


def parts_of(names: Sequence[str]) -> tuple[dict[str, Surface], set[str]]:
    """Return the surfaces and the parts of `parts.SHARES` that `names` select; empty: all."""
    others = [part for part in SHARES if part != "surfaces"]
    if not names:
        return all_surfaces(), set(SHARES)
    for name in names:
        if name not in (*SURFACES.names(), *others):
            valid = [*SURFACES.names(), *others]
            hint = nearest(name, valid) or f"; there are: {', '.join(valid)}"
            raise NearfarError(f"cannot measure {name!r}: no such part{hint}")
    chosen = [name for name in names if name in SURFACES.names()]
    parts = {name for name in names if name in others}
    return (all_surfaces(chosen) if chosen else {}), parts | ({"surfaces"} if chosen else set())


def seconds_given(options: MeasureOptions) -> float | None:
    """Return the time for everything, s; None: as long as the requested repetitions take."""
    if options.seconds is None and options.repetitions is not None:
        return None
    return options.seconds or (QUICK_S if options.quick else FULL_S)


def measure(options: MeasureOptions, progress: Progress = no_progress) -> DeviceProfile:
    """Measure the memory of `options` and keep no samples; stops within 1 s of Ctrl-C."""
    return run(options, progress).device


def run(
    options: MeasureOptions,
    progress: Progress = no_progress,
    seen: Callable[[SamplePoint, Sample], None] = ignore,
) -> Measurement:
    """Measure the memory of `options`; samples are kept next to its `output`, if it has one.

    `seen` is called for each new sample, in the sampling thread. Ctrl-C raises a NearfarError with
    exit code 130 if samples are kept; it tells how to resume.
    """
    start = time.monotonic()
    parts_of(options.parts())  # refuses before memory is mapped
    earlier = _earlier_run(options)
    # Refuse what cannot be resumed before mapping memory; drop an earlier run's samples only after.
    store = _resumed_store(options)
    try:
        opened = open_memory(options, progress, quick=options.quick)
        store = store or _new_store(options)
        subject = Recorder(opened.subject, store, seen)
        device, evidence = _measure(options, opened, subject, progress=progress, start=start)
        if not options.accept_noise:
            refuse_noise(device, options.seconds or 0.0, resumable=store is not None)
    except BaseException as error:
        _keep_samples(store, error, time.monotonic() - start)
        raise
    if earlier is not None and device.measured is not None:
        device.measured.drift.extend(drift.compare(device, earlier))
        device.measured.warnings.extend(drift.warnings(device.measured.drift))
    return Measurement(device, evidence, store)


def _measure(
    options: MeasureOptions,
    opened: OpenedMemory,
    subject: Recorder,
    *,
    progress: Progress,
    start: float,
) -> tuple[DeviceProfile, dict[str, Evidence]]:
    names = options.parts()
    if options.quick and not names:
        names = (*QUICK_PARTS, "writes") if opened.durable else QUICK_PARTS
    surfaces, parts = parts_of(names)
    plan = SurfacePlan(subject.facts(), options.quick)
    before = environment.snapshot()
    seconds = options.seconds or (QUICK_S if options.quick else FULL_S)
    opening_s = time.monotonic() - start
    budget = share_out(max(seconds - opening_s - TAIL_S, MIN_BUDGET_S), parts)
    watch = InstrumentWatch(opened.cpus) if opened.cpus else None
    began = time.monotonic()

    def take(point: SamplePoint) -> Sample:
        progress("probing what the memory gives", 0.0)
        return subject.sample(point)

    for surface in surfaces.values():
        plan = surface.scout(plan, take)
    points = {name: surface.points(plan) for name, surface in surfaces.items()}
    every_point = list(dict.fromkeys(point for of_one in points.values() for point in of_one))
    if not every_point and parts == {"surfaces"}:
        raise _nothing_to_measure(surfaces, plan)
    rounds = _sample_surfaces(
        subject, every_point, options, budget, began=began, progress=progress, watch=watch
    )
    if options.repetitions is not None and options.seconds is None:
        # Repetitions limit the surfaces here; the other parts keep their proportion of the time.
        spent = time.monotonic() - began
        budget = share_out(min(spent / SHARES["surfaces"], seconds), parts)
    results = run_parts(
        subject, budget, watch, _progress_of_parts(progress, budget), rounds.samples
    )
    progress("computing intervals", 1.0)
    made = Assembly(
        options=options,
        opened=opened,
        plan=plan,
        surfaces=surfaces,
        samples={
            name: {point: rounds.samples[point] for point in of_one}
            for name, of_one in points.items()
        },
        rounds=rounds,
        results=results,
        budget=budget,
        before=before,
        after=environment.snapshot(),
        seconds=time.monotonic() - start,
        producer=producer(),
    )
    evidence = results.findings.evidence if results.findings is not None else {}
    return assemble(made), evidence


def _nothing_to_measure(surfaces: dict[str, Surface], plan: SurfacePlan) -> NearfarError:
    reasons = [text for surface in surfaces.values() if (text := surface.lacking(plan))]
    why = "; ".join(reasons) or "this memory can run no kernel of it"
    return NearfarError(
        f"cannot measure {', '.join(surfaces)} on this memory: {why}", ExitCode.MACHINE_LACKS
    )


def _sample_surfaces(
    subject: Recorder,
    points: list[SamplePoint],
    options: MeasureOptions,
    budget: TimeBudget,
    *,
    began: float,
    progress: Progress,
    watch: InstrumentWatch | None,
) -> Rounds:
    """Sample all points in rounds, until the budget ends or intervals are narrow.

    The budget runs from `began` (`time.monotonic`). Samples of an earlier run count as rounds and
    as time spent. If noise then exceeds the limit, the surfaces get their time a second time,
    unless --seconds limits it or samples were resumed; with --quick, the points whose samples
    differ get more samples instead.
    """
    earlier = subject.earlier(points)
    done = sum(len(samples) for samples in earlier.values())
    share = budget.surfaces / budget.total if budget.total else 1.0
    limits = RoundLimits(began + budget.surfaces - done * SAMPLE_S, options.repetitions)
    if options.quick:
        limits = replace(limits, half_width=QUICK_HALF_WIDTH, least=MIN_SAMPLES)

    def report(part: float, rounds: int) -> None:
        progress(f"measuring {len(points)} points, round {rounds}", part * share)

    def each_round(number: int) -> None:
        if parse_spec(options.memory).kind != "model":
            room.refuse_to_swap()
        if watch is not None:
            watch.round(number)

    rounds = run_rounds(
        points, subject.sample, limits, report, earlier=earlier, each_round=each_round
    )
    may_extend = options.seconds is None and rounds.ended == "time" and is_noisy(rounds.samples)
    if may_extend and options.quick:
        again = {point: rounds.samples[point] for point in disputed(rounds.samples)}
        fewest = min(len(taken) for taken in again.values())
        more = run_rounds(
            list(again),
            subject.sample,
            RoundLimits(math.inf, max(QUICK_DISPUTED_SAMPLES, fewest + MIN_ROUNDS)),
            lambda _part, _rounds: progress(f"measuring {len(again)} disputed points", share),
            earlier=again,
            each_round=each_round,
        )
        rounds = replace(rounds, samples=rounds.samples | more.samples)
    elif may_extend and not done:
        limits = RoundLimits(time.monotonic() + budget.surfaces)
        rounds = run_rounds(
            points, subject.sample, limits, report, earlier=rounds.samples, each_round=each_round
        )
    return rounds


def _progress_of_parts(progress: Progress, budget: TimeBudget) -> Progress:
    """Return a callback for the parts after the surfaces, which scales each part's share, 0 to 1.

    A share that falls means that the next part has begun.
    """
    ends: list[float] = []
    reached = budget.surfaces
    for part in ("inference", "protocols", "instrument"):
        if budget.has(part):
            reached += getattr(budget, part)
            ends.append(reached / budget.total)
    state = {"part": 0, "last": 0.0}
    begin = budget.surfaces / budget.total if budget.total else 0.0

    def tell(what: str, share: float) -> None:
        if share < state["last"] and state["part"] < len(ends) - 1:
            state["part"] += 1
        state["last"] = share
        index = int(state["part"])
        first = ends[index - 1] if index else begin
        progress(what, first + min(share, 1.0) * (ends[index] - first))

    return tell


def _earlier_run(options: MeasureOptions) -> DeviceProfile | None:
    """Return the run to compare with: --since, else the file at the output."""
    if options.since is not None:
        before = drift.earlier_run(options.since)
        if before is None:
            raise NearfarError(
                f"cannot compare with {options.since}: it is not a profile of `nearfar measure`"
            )
        return before
    return drift.earlier_run(options.output) if options.output is not None else None


def _resumed_store(options: MeasureOptions) -> SampleStore | None:
    if options.output is None or not options.resume:
        return None
    head = header(str(parse_spec(options.memory)), resume_settings(options))
    return SampleStore.resume(store_path(options.output), head)


def _new_store(options: MeasureOptions) -> SampleStore | None:
    if options.output is None or samples_path(options) is None:
        return None
    head = header(str(parse_spec(options.memory)), resume_settings(options))
    return SampleStore.create(store_path(options.output), head)


def _keep_samples(store: SampleStore | None, error: BaseException, seconds: float) -> None:
    """Close the store (discard it if empty); turn Ctrl-C into an error that tells how to resume."""
    if store is None:
        return
    kept = sum(1 for _ in store.records())
    if kept == 0:
        store.discard()
        return
    store.close()
    if isinstance(error, KeyboardInterrupt):
        command = producer().command.removesuffix(" --resume")
        raise NearfarError(
            f"interrupted after {seconds:.0f} s; {kept} samples are kept in {store.path}: go on "
            f"with `{command} --resume`",
            ExitCode.INTERRUPTED,
        ) from error
