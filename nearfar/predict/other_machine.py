"""A profile as it would have been on another machine: its cache, its near memory, its clock.

A prediction for another machine starts from that machine's near time. Misses follow from the
profile's miss curves. Near time is given (measured there) or predicted: the part of near time here
that memory explains is replaced by the time of the other near memory, and the remainder runs at the
other clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES, format_bytes
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Phase
from nearfar.predict.core_time import core_time_ns, stream_fetch, traffic_time
from nearfar.predict.counts import OTHER_CACHE
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.explain import drawn_gb_per_s, load_curve
from nearfar.predict.interval import far_estimate
from nearfar.predict.loaded_latency import settled_factor
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.phases import check_phase_names, phases_of
from nearfar.predict.traffic import PhaseTraffic

MIN_CURVES_SHARE = 0.5
"""Minimum share of a phase's misses that need curves before another cache can be computed."""


def on_other_machine(
    workload: WorkloadProfile,
    near: DeviceProfile,
    *,
    llc_bytes: int | None = None,
    here: DeviceProfile | None = None,
    frequency_ratio: float = 1.0,
    near_times_ns: Mapping[str, float] | None = None,
    measured: WorkloadProfile | None = None,
    threads: int | None = None,
    error: float = 0.0,
) -> WorkloadProfile:
    """Return the profile that another machine would produce; omitted properties stay the same.

    `near` is that machine's near memory. With `here`, the near memory of this machine, near times
    are predicted for `near`, with `threads` that share the work; their intervals are widened by the
    relative `error`. `measured` is the profile before its cache was changed. Times in
    `near_times_ns` replace predicted times.
    """
    other = workload if llc_bytes is None else with_cache(workload, llc_bytes)
    if here is not None:
        other = with_near_memory(
            other,
            here,
            near,
            frequency_ratio=frequency_ratio,
            measured=measured or workload,
            threads=threads,
            error=error,
        )
    return with_near_times(other, near_times_ns or {})


def with_cache(workload: WorkloadProfile, llc_bytes: int) -> WorkloadProfile:
    """Return the profile with the misses that a last-level cache of `llc_bytes` would have.

    Near time, flushes, fences, page walks and private caches stay the same. Bursts are left out:
    how often each of their instructions misses is known for the simulated cache only. Raises
    NearfarError where the profile has no curves, or none for such a size.
    """
    sizes = workload.curve_bytes
    if not sizes:
        raise NearfarError(
            "the profile has no miss curves, which another cache needs: profile the program again, "
            "or with --llc"
        )
    here = workload.cache.size_bytes
    for size in (here, llc_bytes):
        if not sizes[0] <= size <= sizes[-1]:
            raise NearfarError(
                f"a cache of {format_bytes(size)} is outside the profile's miss curves, "
                f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
            )
    phases = [
        _phase(phase, _read_modify_write_misses(workload, phase), sizes, here, llc_bytes)
        for phase in workload.phases
    ]
    warnings = [
        *workload.warnings,
        f"misses are those of a cache of {format_bytes(llc_bytes)}, computed from the miss "
        f"curves: {format_bytes(here)} was simulated",
    ]
    bursts = workload.bursts if llc_bytes == here else None
    if bursts is not workload.bursts:
        warnings.append(
            "bursts are left out: which accesses miss is known for the simulated cache only"
        )
    return msgspec.structs.replace(
        workload,
        phases=phases,
        cache=msgspec.structs.replace(
            workload.cache,
            size_bytes=llc_bytes,
            origin=f"{OTHER_CACHE}, from {format_bytes(here)} simulated",
        ),
        bursts=bursts,
        warnings=warnings,
    )


def with_near_times(workload: WorkloadProfile, times_ns: Mapping[str, float]) -> WorkloadProfile:
    """Return the profile with CPU times measured on another machine, ns by phase name.

    Wall times change by the same factor. Raises NearfarError for an unknown phase or a time not
    above 0.
    """
    check_phase_names(workload, list(times_ns))
    for name, time_ns in times_ns.items():
        if not (time_ns > 0 and np.isfinite(time_ns)):
            raise NearfarError(f"near time of {name!r} must be above 0, not {time_ns:g} ns")
    phases = [
        _timed(phase, Estimate(times_ns[phase.name], times_ns[phase.name], times_ns[phase.name]))
        if phase.name in times_ns
        else phase
        for phase in workload.phases
    ]
    return msgspec.structs.replace(workload, phases=phases)


def with_near_memory(
    workload: WorkloadProfile,
    here: DeviceProfile,
    there: DeviceProfile,
    *,
    frequency_ratio: float = 1.0,
    measured: WorkloadProfile | None = None,
    threads: int | None = None,
    error: float = 0.0,
) -> WorkloadProfile:
    """Return the profile with near times predicted for the near memory of another machine.

    `here` is the memory in which the times were measured, `there` the other machine's, with the
    figures measured or published there. `frequency_ratio` is the other clock over this one; it
    speeds up what does not wait for memory. `measured` is the profile before `with_cache`, whose
    misses explain the times measured here. `threads` share the work there, by default as here.
    `error` is relative and widens the interval.
    """
    if not 0.1 <= frequency_ratio <= 10.0:
        raise NearfarError(
            f"--frequency {frequency_ratio:g}: expected the other machine's clock over this "
            "one's, 0.1 to 10, such as 1.2"
        )
    near = near_memory(here)
    far = far_memory(there, near, "published")
    phases = []
    for phase, traffic, measured_traffic in zip(
        workload.phases, phases_of(workload), phases_of(measured or workload), strict=True
    ):
        model = InversionModel(measured_traffic, near, far)
        sharing = traffic if threads is None else replace(traffic, concurrency=float(threads))
        time_ns = _time_there_ns(model, sharing, far, frequency_ratio)
        far_time = far_estimate(InversionModel, measured_traffic, near, far, model).far_time_ns
        low, high = (
            time_ns * end / max(far_time.value, 1.0) for end in (far_time.low, far_time.high)
        )
        low, high = low / (1.0 + error), high * (1.0 + error)
        phases.append(_timed(phase, Estimate(time_ns, low, high)))
    return msgspec.structs.replace(
        workload,
        phases=phases,
        warnings=[
            *workload.warnings,
            f"near times are predicted for {there.name} from those in {here.name}, at "
            f"{frequency_ratio:g} times the clock",
        ],
    )


def _time_there_ns(
    model: InversionModel, traffic: PhaseTraffic, memory: MemoryCosts, frequency_ratio: float
) -> float:
    """Return the CPU time of `traffic` in the other machine's near memory alone, ns.

    Overlap is that of `model`, which explains the time measured here. Latency is that at the
    bandwidth that all threads draw.
    """
    explanation = model.explanation
    streams = stream_fetch(traffic, model.near, model.perturbation.streams_share)
    part = traffic_time(traffic.total, memory, explanation.overlap, streams, traffic.concurrency)

    def time_ns(factor: float) -> float:
        other_ns = explanation.other_ns / frequency_ratio
        return float(explanation.scale * core_time_ns(other_ns, [part], [factor]))

    load = load_curve(traffic, memory)
    if load is None:
        return time_ns(1.0)
    drawn = float(drawn_gb_per_s(traffic, memory, traffic.total, 1.0))
    return time_ns(
        settled_factor(lambda factor: load.at_one(drawn / max(time_ns(factor), 1.0)), load.greatest)
    )


def _timed(phase: Phase, time_ns: Estimate) -> Phase:
    here_ns = phase.near_cpu_time_ns.value
    wall = phase.near_wall_time_ns * (time_ns.value / here_ns if here_ns > 0 else 1.0)
    return msgspec.structs.replace(
        phase, near_cpu_time_ns=time_ns, near_wall_time_ns=wall, near_repetitions=0
    )


def _read_modify_write_misses(workload: WorkloadProfile, phase: Phase) -> dict[int, float]:
    """Return by object the misses of instructions that load and store, such as atomic additions.

    The profile counts such misses as reads, because the program waits for them, but the miss curves
    count their accesses as stores.
    """
    misses: dict[int, float] = {}
    for row in phase.instructions:
        if workload.instructions[row.instruction].operation == "both":
            misses[row.object] = misses.get(row.object, 0.0) + row.misses
    return misses


def _phase(
    phase: Phase, loaded_by_stores: Mapping[int, float], sizes: list[float], here: int, there: int
) -> Phase:
    covered = sum(row.traffic.misses() for row in phase.objects if row.curve is not None)
    total = sum(row.traffic.misses() for row in phase.objects)
    if covered < MIN_CURVES_SHARE * total:
        raise NearfarError(
            f"only {covered / total:.0%} of the misses of phase {phase.name!r} have miss "
            "curves (too few accesses were sampled): profile a longer run, or with --llc"
        )
    rows = [
        _row(row, loaded_by_stores.get(row.object, 0.0), sizes, here, there)
        for row in phase.objects
    ]
    return msgspec.structs.replace(phase, objects=rows)


def _row(
    row: ObjectTraffic, loaded_by_stores: float, sizes: list[float], here: int, there: int
) -> ObjectTraffic:
    if row.curve is None:
        return row
    traffic = row.traffic
    loads, stores = (_Curve(part, sizes, here, there) for part in (row.curve.read, row.curve.write))
    every = _Curve(
        [a + b for a, b in zip(loads.misses, stores.misses, strict=True)], sizes, here, there
    )
    reads = traffic.read_misses.total()
    by_stores = min(1.0, loaded_by_stores / reads) if reads else 0.0
    read = _misses(traffic.read_misses, [(loads, 1.0 - by_stores), (stores, by_stores)], every)
    write = _misses(traffic.write_misses, [(stores, 1.0)], every)
    before = traffic.misses()
    ratio = (read.total() + write.total()) / before if before else 1.0
    sent = min(traffic.write_backs, traffic.flushes + traffic.nt_store_bytes / LINE_BYTES)
    return msgspec.structs.replace(
        row,
        traffic=msgspec.structs.replace(
            traffic,
            read_misses=read,
            write_misses=write,
            read_sequential=_in_proportion(traffic.read_sequential, traffic.read_misses, read),
            write_sequential=_in_proportion(traffic.write_sequential, traffic.write_misses, write),
            # Write-backs of fetched lines change as misses do. Lines that the program flushes or
            # stores past the caches are written whatever the cache.
            write_backs=sent + (traffic.write_backs - sent) * ratio,
        ),
    )


@dataclass(frozen=True)
class _Curve:
    """A miss curve between the cache here and the other machine's."""

    misses: list[float]
    sizes: list[float]
    here: int
    there: int

    @property
    def at_there(self) -> float:
        return _misses_at(self.misses, self.sizes, self.there)

    @property
    def ratio(self) -> float | None:
        """Return the misses there over those here; None: there are none here."""
        at_here = _misses_at(self.misses, self.sizes, self.here)
        return self.at_there / at_here if at_here > 0.0 else None


def _misses(
    misses: AccessClasses, curves: Sequence[tuple[_Curve, float]], every: _Curve
) -> AccessClasses:
    """Return misses scaled by the ratios of `curves`, each with its share of the misses.

    A curve without misses here has no ratio: the ratio of all accesses, `every`, is used.
    """
    if misses.total() > 0.0 and every.ratio is not None:
        fallback = every.ratio
        return misses.times(
            sum(
                share * (fallback if curve.ratio is None else curve.ratio)
                for curve, share in curves
                if share
            )
        )
    # Nothing missed here. In a smaller cache, the curve's misses appear, with unknown class. If the
    # curve has misses here, `read_misses` counts them: instructions that load and store.
    first, _ = curves[0]
    misses_there = first.there < first.here and first.ratio is None
    return AccessClasses(opaque=first.at_there if misses_there else 0.0)


def _misses_at(curve: list[float], sizes: list[float], size: int) -> float:
    return float(np.interp(np.log2(size), np.log2(sizes), curve))


def _in_proportion(
    part: AccessClasses, before: AccessClasses, after: AccessClasses
) -> AccessClasses:
    return part.times(after.total() / before.total() if before.total() else 0.0)


def parse_near_times(texts: list[str], names: list[str]) -> dict[str, float]:
    """Read ``PHASE=TIME`` or, for a profile of one phase, ``TIME``; times such as 251us, 3.5s."""
    times: dict[str, float] = {}
    for text in texts:
        name, equals, time = text.rpartition("=")
        time_ns = parse_time_ns(time)
        if not equals:
            if len(names) != 1:
                raise NearfarError(
                    f"--near-time {text!r} must name a phase: PHASE={text}; there are: "
                    f"{', '.join(names)}"
                )
            name = names[0]
        times[name] = time_ns
    return times


def parse_time_ns(text: str) -> float:
    """Read a time with its unit (ns, us, ms, s) as ns."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(ns|us|ms|s)\s*", text)
    if match is None:
        raise NearfarError(
            f"cannot read the time {text!r}: expected a number with ns, us, ms or s, such as 3.5s"
        )
    try:
        value = float(match[1])
    except ValueError:
        raise NearfarError(f"cannot read the time {text!r}: {match[1]!r} is not a number") from None
    return value * {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}[match[2]]
