"""A profile on a target machine: what is known there, what is assumed, and near time.

Misses follow from the target's last-level cache, near time is given or predicted for its near
memory, clock and number of threads. Whatever differs between both machines is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot

import msgspec

from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.units import format_bytes, format_count
from nearfar.devices.cores import core_of_processor, load_core
from nearfar.devices.machines import TargetMachine
from nearfar.devices.machines.library import CLOCK
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.core import CoreFigures
from nearfar.predict.other_machine import on_other_machine, with_cache, with_near_times

OTHER_CORE_ERROR = 0.15
"""Relative error of a near time predicted for another core: generations of one vendor's cores
differ by 10 to 20 % at one clock."""

UNKNOWN_CLOCK_ERROR = 0.25
"""Relative error where a clock is not known: servers run at 2.1 to 3.5 GHz under load."""

MORE_THREADS_ERROR = 0.10
"""Relative error of work that is assumed to split evenly over more threads than were profiled."""


@dataclass(frozen=True)
class ConvertedProfile:
    """A profile converted to the target machine."""

    workload: WorkloadProfile
    known: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    def sentences(self, machine: TargetMachine) -> list[str]:
        """Return what is known and what is assumed of `machine`, for the user."""
        known = [f"on {machine.name}, known: {'; '.join(self.known)}"] if self.known else []
        return [*known, *(f"on {machine.name}, assumed: {text}" for text in self.assumed)]


def on_machine(
    workload: WorkloadProfile,
    machine: TargetMachine,
    near: DeviceProfile,
    *,
    here: DeviceProfile | None = None,
    near_times_ns: Mapping[str, float] | None = None,
    threads: int | None = None,
    core: CoreFigures | None = None,
) -> ConvertedProfile:
    """Return the profile converted to `machine`, with near memory `near` and core `core`.

    `near_times_ns` are wall times measured there by phase; "" is the whole run's. Times of other
    phases are predicted from their times in `here`, the memory that the profile was taken in.
    `threads` run on the target all the time; by default as many cores are busy as during profiling.
    Raises NearfarError for more threads than the machine has, and if a near time is neither given
    nor predictable.
    """
    times_ns = _by_phase(near_times_ns or {}, workload)
    if not times_ns and here is None:
        raise CommandError(
            f"near time on {machine.name} is not known: give it with --near-time, or give the "
            "memory that the profile was taken in with --here, from which it is predicted"
        )
    facts = ConvertedProfile(workload)
    untimed = _untimed(workload, times_ns)
    profiled = max(1, workload.program.threads_seen)
    count = profiled if threads is None else threads
    _check_threads(count, machine)
    converted = _with_cache(facts, workload, machine, near)
    if untimed and here is not None:
        ratio, error = _clock_ratio(facts, machine, here)
        converted = on_other_machine(
            converted,
            near,
            here=here,
            frequency_ratio=ratio,
            measured=workload,
            threads=count,
            error=hypot(error, MORE_THREADS_ERROR * (count > profiled)),
        )
    if times_ns:
        cores = _busy_cores(workload, threads)
        converted = with_near_times(
            converted, {name: ns * cores.get(name, 1) for name, ns in times_ns.items()}
        )
        facts.known.append(f"near time of {', '.join(times_ns)}" if untimed else "near time")
    if untimed:
        facts.assumed.append(_assumed_time(", ".join(untimed) if times_ns else "", near, here))
    if threads is not None:
        converted = _with_threads(converted, count)
    if count != profiled:
        facts.assumed.append(
            f"the work of {format_count(profiled, 'thread')} splits evenly over {count}; locks, "
            "transfers between caches and imbalance are not predicted"
        )
    _list_facts(facts, machine, workload, core)
    return ConvertedProfile(converted, facts.known, facts.assumed)


def _busy_cores(workload: WorkloadProfile, threads: int | None) -> dict[str, float]:
    """Return the number of busy cores by phase: `threads`, or as profiled if it is None."""
    cores = {}
    for phase in workload.phases:
        wall, cpu = phase.near_wall_time_ns, phase.near_cpu_time_ns.value
        profiled = cpu / wall if wall > 0.0 and cpu > 0.0 else 1.0
        cores[phase.name] = profiled if threads is None else float(threads)
    return cores


def _check_threads(count: int, machine: TargetMachine) -> None:
    if count < 1:
        raise CommandError(f"--threads must be at least 1, not {count}")
    if machine.threads is not None and count > machine.threads:
        raise NearfarError(
            f"{machine.name} runs at most {machine.threads} threads at once, not {count}: choose "
            "fewer with --threads"
        )


def _with_cache(
    facts: ConvertedProfile, workload: WorkloadProfile, machine: TargetMachine, near: DeviceProfile
) -> WorkloadProfile:
    """Return the profile with the target's last-level cache, if its size is known and possible.

    If `near` was measured, the size is the part that a core gets: virtual machines share a cache.
    """
    here = workload.cache.size_bytes
    if workload.cache.origin == "counters":
        facts.assumed.append("misses are as counted: counters do not show those of another cache")
        return workload
    if machine.llc_bytes is None:
        facts.assumed.append(
            f"its last-level cache is not stated: misses are those of {format_bytes(here)}"
        )
        return workload
    sizes = workload.curve_bytes
    size, share = machine.llc_bytes, ""
    measured = None if near.measured is None else near.measured.effective_llc_bytes
    if measured is not None and measured < size:
        size, share = measured, f", of which a core gets {format_bytes(measured)} by {near.name}"
    if sizes and size > sizes[-1]:
        facts.assumed.append(
            f"a cache of {format_bytes(size)} misses as one of {format_bytes(int(sizes[-1]))}, the "
            "end of the miss curves"
        )
        size = int(sizes[-1])
    try:
        there = with_cache(workload, size)
    except NearfarError as error:
        facts.assumed.append(f"misses are those of {format_bytes(here)}: {error}")
        return workload
    cache = f"last-level cache {format_bytes(machine.llc_bytes)}{share}"
    _fact(facts, machine, "llc_bytes", cache)
    return there


def _clock_ratio(
    facts: ConvertedProfile, machine: TargetMachine, here: DeviceProfile
) -> tuple[float, float]:
    """Return the target's clock over this machine's, and the error of a predicted near time."""
    match = CLOCK.search(here.producer.cpu_model)
    core = core_of_processor(here.producer.cpu_model, here.producer.cpu_id)
    here_ghz = None if match is None else float(match[1])
    if here_ghz is None and core is not None and core.frequency_ghz is not None:
        here_ghz = core.frequency_ghz.value
    same_core = core is not None and core.name == machine.core
    error = 0.0 if same_core else OTHER_CORE_ERROR
    if not same_core:
        facts.assumed.append(
            f"its core does as much work per cycle as {here.producer.cpu_model}, within "
            f"{OTHER_CORE_ERROR:.0%}"
        )
    if machine.clock_ghz is None or here_ghz is None:
        which = "its clock is" if machine.clock_ghz is None else "this machine's clock is"
        facts.assumed.append(f"{which} not known: both are taken as equal")
        return 1.0, hypot(error, UNKNOWN_CLOCK_ERROR)
    _fact(facts, machine, "clock_ghz", f"clock {machine.clock_ghz:g} GHz, here {here_ghz:g} GHz")
    return machine.clock_ghz / here_ghz, error


def _by_phase(times_ns: Mapping[str, float], workload: WorkloadProfile) -> dict[str, float]:
    """Return wall times by phase; a time of the whole run is divided as in the profile."""
    whole = times_ns.get("")
    if whole is None:
        return dict(times_ns)
    if len(times_ns) > 1:
        raise CommandError(
            "--near-time is of the whole run or of phases: name the phase of each time, "
            "PHASE=3s, or give one time"
        )
    here = {phase.name: phase.near_wall_time_ns for phase in workload.phases}
    total = sum(here.values())
    if total <= 0.0:
        raise NearfarError(
            "--near-time of the whole run is divided as the profile's near time, which is 0: give "
            "a time for each phase, --near-time PHASE=3s"
        )
    return {name: whole * ns / total for name, ns in here.items() if ns > 0}


def _untimed(workload: WorkloadProfile, times_ns: Mapping[str, float]) -> list[str]:
    """Return the phases that take time here and for which no time on the target is given."""
    return [
        phase.name
        for phase in workload.phases
        if phase.near_cpu_time_ns.value > 0.0 and phase.name not in times_ns
    ]


def _assumed_time(phases: str, near: DeviceProfile, here: DeviceProfile | None) -> str:
    """Return a sentence on the origin of the near time of `phases` ("": all), if none is given."""
    of_phases = f" of {phases}" if phases else ""
    if here is None:
        return f"near time{of_phases}: as in the profile, since none is given (--near-time, --here)"
    return (
        f"near time{of_phases}, predicted for {near.name} from that in {here.name}: the interval "
        "says how far it may be off"
    )


def _with_threads(workload: WorkloadProfile, count: int) -> WorkloadProfile:
    phases = [
        msgspec.structs.replace(phase, near_wall_time_ns=phase.near_cpu_time_ns.value / count)
        for phase in workload.phases
    ]
    program = msgspec.structs.replace(workload.program, threads_seen=count)
    return msgspec.structs.replace(workload, phases=phases, program=program)


def _list_facts(
    facts: ConvertedProfile,
    machine: TargetMachine,
    workload: WorkloadProfile,
    core: CoreFigures | None,
) -> None:
    """List the other facts that may differ: core, pages, prefetchers, compiler, private caches."""
    if machine.near is not None:
        _fact(facts, machine, "near", f"near memory {machine.near}")
    if machine.processor:
        _fact(facts, machine, "processor", f"processor {machine.processor}")
    if core is not None:
        facts.known.append(f"core {core.title or core.name}")
    elif machine.core is not None:
        _fact(facts, machine, "core", f"core {load_core(machine.core).title or machine.core}")
    else:
        facts.assumed.append("its core is not known: one of the library's")
    if machine.page_bytes is not None:
        _fact(facts, machine, "page_bytes", f"pages of {format_bytes(machine.page_bytes)}")
    else:
        facts.assumed.append("its pages are those of the profile")
    _fact(
        facts,
        machine,
        "prefetchers",
        f"prefetchers {machine.prefetchers}" if machine.prefetchers else "",
    )
    compiler = machine.compiler or "the same compiler and options as here"
    (facts.known if machine.compiler else facts.assumed).append(compiler)
    if not machine.prefetchers:
        facts.assumed.append("prefetchers as here")
    if machine.private_bytes is not None and workload.core is not None:
        facts.assumed.append(
            f"hits of private caches as profiled; its second level is "
            f"{format_bytes(machine.private_bytes)}"
        )


def _fact(facts: ConvertedProfile, machine: TargetMachine, key: str, text: str) -> None:
    """List `text` as known, or as assumed with the machine file's reason."""
    reason = machine.assumed.get(key)
    if text and reason is None:
        facts.known.append(text)
    elif text:
        facts.assumed.append(f"{text} ({reason})")
