"""A profile as it would have been on another machine: its cache, its near memory, its clock.

A prediction for a machine that is not this one starts from what that machine does near. Misses
follow from the profile's miss curves; near time is given (measured there), or predicted: what
memory explains of near time here is replaced by what the other near memory takes, the rest runs
at the other clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES, format_bytes
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Phase
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import phases_of

LEAST_SHARE = 0.5
"""Share of a phase's misses that must have curves for another cache to be worked out."""


def on_other_machine(
    workload: WorkloadProfile,
    near: DeviceProfile,
    *,
    llc_bytes: int | None = None,
    here: DeviceProfile | None = None,
    frequency_ratio: float = 1.0,
    near_times_ns: Mapping[str, float] | None = None,
) -> WorkloadProfile:
    """Return the profile as another machine would have it; what is not given stays.

    `near` is that machine's near memory; with `here`, times are predicted for it. Times given in
    `near_times_ns` come before predicted ones.
    """
    there = workload if llc_bytes is None else with_cache(workload, llc_bytes)
    if here is not None:
        there = with_near_memory(
            there, here, near, frequency_ratio=frequency_ratio, measured=workload
        )
    return with_near_times(there, near_times_ns or {})


def with_cache(workload: WorkloadProfile, llc_bytes: int) -> WorkloadProfile:
    """Return the profile with the misses that a last-level cache of `llc_bytes` would have.

    Near time stays what it was, and so do flushes, fences, page walks and what private caches do.
    Bursts go: how often each of their instructions misses belongs to the cache simulated. Raises
    NearfarError where the profile has no curves, or not of such a size.
    """
    sizes = workload.curve_bytes
    if not sizes:
        raise NearfarError(
            "the profile has no miss curves, so another cache cannot be worked out: profile the "
            "program again, or with --llc"
        )
    here = workload.cache.size_bytes
    for size in (here, llc_bytes):
        if not sizes[0] <= size <= sizes[-1]:
            raise NearfarError(
                f"a cache of {format_bytes(size)} is outside the profile's miss curves, "
                f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
            )
    phases = [_phase(phase, sizes, here, llc_bytes) for phase in workload.phases]
    warnings = [
        *workload.warnings,
        f"misses are those of a cache of {format_bytes(llc_bytes)}, worked out from the miss "
        f"curves: {format_bytes(here)} was simulated",
    ]
    bursts = workload.bursts if llc_bytes == here else None
    if bursts is not workload.bursts:
        warnings.append("bursts are left out: which accesses miss is known of that cache only")
    return msgspec.structs.replace(
        workload,
        phases=phases,
        cache=msgspec.structs.replace(
            workload.cache,
            size_bytes=llc_bytes,
            origin=f"miss curves, from {format_bytes(here)} simulated",
        ),
        bursts=bursts,
        warnings=warnings,
    )


def with_near_times(workload: WorkloadProfile, times_ns: Mapping[str, float]) -> WorkloadProfile:
    """Return the profile with CPU times measured elsewhere, ns by phase name.

    Wall times change alike. Raises NearfarError for an unknown phase or a time not above 0.
    """
    known = [phase.name for phase in workload.phases]
    for name, time_ns in times_ns.items():
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            raise NearfarError(f"the profile has no phase {name!r}{hint}")
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
) -> WorkloadProfile:
    """Return the profile with near times predicted for the near memory of another machine.

    `here` is the memory that the times were measured in, `there` the other machine's, taken as it
    was measured or published there. `frequency_ratio` is the other clock over this one; it speeds
    up what is not waiting for memory. `measured` is the profile before `with_cache`, whose misses
    explain the times measured here.
    """
    if not 0.1 <= frequency_ratio <= 10.0:
        raise NearfarError(
            f"a clock of {frequency_ratio:g} times this one's is out of reason: give the ratio of "
            "the other frequency to this one, such as 1.2"
        )
    near = near_memory(here)
    far = far_memory(there, near, "published")
    phases = []
    for phase, then, before in zip(
        workload.phases, phases_of(workload), phases_of(measured or workload), strict=True
    ):
        model = InversionModel(before, near, far)
        time_ns = model.elsewhere_ns(then.total, frequency_ratio)
        spread = far_estimate(InversionModel, before, near, far, model).far_time_ns
        low, high = (time_ns * end / max(spread.value, 1.0) for end in (spread.low, spread.high))
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


def _timed(phase: Phase, time_ns: Estimate) -> Phase:
    here_ns = phase.near_cpu_time_ns.value
    wall = phase.near_wall_time_ns * (time_ns.value / here_ns if here_ns > 0 else 1.0)
    return msgspec.structs.replace(phase, near_cpu_time_ns=time_ns, near_wall_time_ns=wall)


def _phase(phase: Phase, sizes: list[float], here: int, there: int) -> Phase:
    covered = sum(row.traffic.misses() for row in phase.objects if row.curve is not None)
    everything = sum(row.traffic.misses() for row in phase.objects)
    if covered < LEAST_SHARE * everything:
        raise NearfarError(
            f"only {covered / everything:.0%} of the misses of phase {phase.name!r} have miss "
            "curves (too few accesses were sampled): profile a longer run, or with --llc"
        )
    return msgspec.structs.replace(
        phase, objects=[_row(row, sizes, here, there) for row in phase.objects]
    )


def _row(row: ObjectTraffic, sizes: list[float], here: int, there: int) -> ObjectTraffic:
    if row.curve is None:
        return row
    traffic, curve = row.traffic, row.curve
    read = _added(traffic.read_misses, curve.read, sizes, here, there)
    write = _added(traffic.write_misses, curve.write, sizes, here, there)
    before = traffic.misses()
    whole = (read.total() + write.total()) / before if before else 1.0
    sent = min(traffic.write_backs, traffic.flushes + traffic.nt_store_bytes / LINE_BYTES)
    return msgspec.structs.replace(
        row,
        traffic=msgspec.structs.replace(
            traffic,
            read_misses=read,
            write_misses=write,
            read_sequential=_likewise(traffic.read_sequential, traffic.read_misses, read),
            write_sequential=_likewise(traffic.write_sequential, traffic.write_misses, write),
            # A line is written back as often as it is brought in and written; but those that the
            # program itself sends to memory go there whatever the cache.
            write_backs=sent + (traffic.write_backs - sent) * whole,
        ),
    )


def _added(
    misses: AccessClasses, curve: list[float], sizes: list[float], here: int, there: int
) -> AccessClasses:
    """Return misses times what the curve says of both sizes; all of the curve where none were."""
    at_here, at_there = (_at(curve, sizes, size) for size in (here, there))
    if misses.total() > 0 and at_here > 0:
        return misses.times(at_there / at_here)
    # Nothing missed here: a smaller cache misses what the curve says, of no known class.
    return AccessClasses(opaque=at_there if there < here else 0.0)


def _at(curve: list[float], sizes: list[float], size: int) -> float:
    return float(np.interp(np.log2(size), np.log2(sizes), curve))


def _likewise(part: AccessClasses, before: AccessClasses, after: AccessClasses) -> AccessClasses:
    return part.times(after.total() / before.total() if before.total() else 0.0)


def parse_near_times(texts: list[str], names: list[str]) -> dict[str, float]:
    """Read ``PHASE=TIME`` or, for a profile of one phase, ``TIME``; times such as 251us, 3.5s."""
    found: dict[str, float] = {}
    for text in texts:
        name, equals, time = text.rpartition("=")
        if not equals:
            if len(names) != 1:
                raise NearfarError(
                    f"--near-time {text!r} must name a phase: PHASE={text}; there are: "
                    f"{', '.join(names)}"
                )
            name = names[0]
        found[name] = parse_time_ns(time)
    return found


def parse_time_ns(text: str) -> float:
    """Read a time with its unit (ns, us, ms, s) as ns."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(ns|us|ms|s)\s*", text)
    if match is None:
        raise NearfarError(f"cannot read the time {text!r}: a number with ns, us, ms or s")
    try:
        value = float(match[1])
    except ValueError:
        raise NearfarError(f"cannot read the time {text!r}: {match[1]!r} is no number") from None
    return value * {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}[match[2]]
