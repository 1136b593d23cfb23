"""Predictions of cases: a profile of the stand-in program, on the case's machine and memories."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.devices import curves
from nearfar.devices.cores import load_core
from nearfar.devices.library import load_device
from nearfar.devices.machines.library import load_machine
from nearfar.documents import DeviceProfile
from nearfar.documents.core import CoreFigures
from nearfar.predict.cores import core_behind
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import DEFAULT_MODEL, MODELS, Model
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import Array, PhaseTraffic
from nearfar.version import built_from
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase
from nearfar_studies.hardware.checks import FigureCheck, checked
from nearfar_studies.hardware.growth import added_share
from nearfar_studies.hardware.margins import interval_of
from nearfar_studies.hardware.stand_ins import (
    PHASE,
    Profiler,
    StandIn,
    StandInInput,
    program_of,
)

MACHINES = Path(__file__).with_name("machines.toml")
MEMORY_MODE = "memory-mode"
SMALLER = re.compile(r"Memory Mode, (N=\d+)")
"""Near memory of a case whose near run has a smaller input, also in Memory Mode."""

SOCKETS = 2
"""Number of sockets of every machine in the cases."""

MIN_SLOWDOWN = 0.8
"""Lowest end of an interval: slower memory alone cannot be faster, but two memories together
can."""

ASSUMED_TIME_FACTOR = 2.0
"""Factor within which an assumed near time is considered correct."""


@dataclass(frozen=True)
class CaseMachine:
    """The machine of a case, as far as its source describes it."""

    threads: int
    """Threads of the case; if the source does not state them, one per core of a socket."""
    llc_bytes: float
    core: CoreFigures | None
    near: DeviceProfile
    far: DeviceProfile
    cache_bytes: float
    """Near memory that caches the far one in Memory Mode; 0: data are much larger."""
    assumed: str


@dataclass(frozen=True)
class _PreparedCase:
    """One case, ready for a model."""

    traffic: PhaseTraffic
    moved: Array
    """The traffic that the placement moves to far memory, shape (COLUMNS,)."""
    machine: CaseMachine
    model: str
    moved_share: float
    """Share of near time that memory may change."""
    stored: Estimate
    """Time of stores that only the far run makes, divided by near time."""
    checks: list[FigureCheck]


@cache
def _machines() -> list[dict[str, Any]]:
    return list(tomllib.loads(MACHINES.read_text())["machines"])


def machine_of(case: MemoryCase, use_other: bool = False) -> CaseMachine:
    """Return the machine of a case, or with `use_other` the other one that it may be.

    Raises NearfarError if machine or memory is unknown.
    """
    for entry in _machines():
        if re.search(entry["match"], case.machine):
            machine = load_machine(entry["machine"])
            threads = case.thread_count or entry["cores"]
            if "2 sockets" in case.threads:
                threads *= SOCKETS
            sockets = min(math.ceil(threads / entry["cores"]), SOCKETS)
            return CaseMachine(
                threads=threads,
                llc_bytes=float(machine.llc_bytes or entry["llc_bytes"]),
                core=load_core(machine.core) if machine.core else None,
                near=_memory(entry, case.near_memory, sockets, use_other),
                far=_memory(entry, case.far_memory, sockets, use_other),
                cache_bytes=sockets * float(entry.get("cache_bytes", 0.0)),
                assumed="; ".join(f"{key}: {why}" for key, why in machine.assumed.items()),
            )
    raise NearfarError(f"the machine {case.machine!r} is not known: add it to {MACHINES.name}")


def is_ambiguous(case: MemoryCase) -> bool:
    """Return whether the memories of a case may be another set of devices."""
    memories = (machine_of(case, use_other=other) for other in (False, True))
    first, second = ((each.near.name, each.far.name) for each in memories)
    return first != second


def latency_ratio(case: MemoryCase) -> float | None:
    """Return far over near idle latency of a case whose memories are known, else None."""
    try:
        machine = machine_of(case)
    except NearfarError:
        return None
    near, far = (curves.idle_read_latency_ns(d).value_ns for d in (machine.near, machine.far))
    return far / near


def _memory(entry: dict[str, Any], text: str, sockets: int, use_other: bool) -> DeviceProfile:
    for words, memory in entry["memories"].items():
        if re.search(words, text):
            device = load_device(
                memory.get("or", memory["device"]) if use_other else memory["device"]
            )
            return _scaled(device, sockets) if memory.get("each_socket") else device
    raise NearfarError(f"the memory {text!r} of {entry['match']} is not known: add it")


def _scaled(device: DeviceProfile, factor: int) -> DeviceProfile:
    """Return a device with `factor` times as many modules; one thread's bandwidth is unchanged."""
    if factor == 1:
        return device
    rates = [
        figure
        if figure.threads == 1
        else msgspec.structs.replace(
            figure,
            value_gb_per_s=figure.value_gb_per_s * factor,
            threads=figure.threads and figure.threads * factor,
        )
        for figure in device.bandwidth
    ]
    return msgspec.structs.replace(device, bandwidth=rates, loaded_latency=[])


class CasePredictor:
    """Predicts cases; programs are profiled once for all of them."""

    def __init__(self, profiles: Path) -> None:
        self.profiler = Profiler(profiles)
        self.checks: dict[tuple[str, str], list[FigureCheck]] = {}
        """Checks of stand-in programs, by program and input, of all cases predicted so far."""
        self.commit = built_from()

    def predict(self, case: MemoryCase) -> CasePrediction:
        """Return the prediction of a case, or the reason why there is none."""
        try:
            slowdown, model, assumed = self._predict(case)
        except NearfarError as error:
            return CasePrediction(case.id, None, None, None, "", self.commit, str(error))
        low, high = interval_of(case, slowdown)
        return CasePrediction(case.id, slowdown.value, low, high, model, self.commit, assumed)

    def _predict(self, case: MemoryCase) -> tuple[Estimate, str, str]:
        program = program_of(case)
        if program is None:
            raise NearfarError(f"there is no stand-in program for {case.program!r}")
        stand_in_input = _input_of(case, program, case.input)
        prepared = self._prepare(case, program, stand_in_input, machine_of(case))
        slowdown = self._compared(case, program, prepared)
        if is_ambiguous(case):
            machine = machine_of(case, use_other=True)
            other = self._prepare(case, program, stand_in_input, machine)
            also = self._compared(case, program, other)
            low, high = min(slowdown.low, also.low), max(slowdown.high, also.high)
            slowdown = Estimate(slowdown.value, low, high)
        self.checks[case.program, case.input] = prepared.checks
        assumed = [
            f"stand-in program {program.name}",
            stand_in_input.assumed,
            prepared.machine.assumed,
        ]
        assumed += [
            f"differs from its source: {check.figure.what} is {check.ours:.3g}, published "
            f"{check.figure.value:.3g}"
            for check in prepared.checks
            if not check.agrees
        ]
        if (
            case.near_seconds is None
            and case.near_rate is None
            and not stand_in_input.near_ns_per_operation
        ):
            assumed.append("near time is that of the stand-in program here")
        return slowdown, prepared.model, "; ".join(filter(None, assumed))

    def _compared(self, case: MemoryCase, program: StandIn, prepared: _PreparedCase) -> Estimate:
        """Return the slowdown beside the case's near run, which may have a smaller input."""
        slowdown = _slowdown(prepared)
        size = SMALLER.fullmatch(case.near_memory)
        if size is None:
            return slowdown
        smaller_input = _input_of(case, program, size[1])
        smaller = self._prepare(case, program, smaller_input, prepared.machine)
        near = near_memory(prepared.machine.near, core=_core(prepared))
        added = added_share(prepared.traffic, smaller.traffic, near)
        return _divided(_plus(slowdown, added), _slowdown(smaller))

    def _prepare(
        self,
        case: MemoryCase,
        program: StandIn,
        stand_in_input: StandInInput,
        machine: CaseMachine,
    ) -> _PreparedCase:
        in_memory_mode = case.placement == "Memory Mode"
        bursts = not in_memory_mode or SMALLER.fullmatch(case.near_memory) is not None
        profile = self.profiler.profile(program, stand_in_input, machine.llc_bytes, bursts=bursts)
        (phase,) = phases_of(profile, [PHASE])
        threads = float((case.thread_count is None and stand_in_input.threads) or machine.threads)
        unmoved = stand_in_input.unmoved_seconds / (case.near_seconds or math.inf)
        near_ns = _near_ns(case, stand_in_input, phase, threads * (1.0 - unmoved))
        traffic = replace(phase, near_time_ns=near_ns, concurrency=threads)
        model = DEFAULT_MODEL
        if in_memory_mode:
            model = MEMORY_MODE
            # Near memory shrinks as the stand-in's data do. Data without page walks are within
            # the TLB's reach and fit, so near memory keeps its size.
            used = (
                phase.walked_bytes / (stand_in_input.data_bytes or math.inf)
                if phase.walked_bytes
                else 1.0
            )
            size = max(round(machine.cache_bytes * used), LINE_BYTES)
            cached = msgspec.structs.replace(machine.near, capacity_bytes=size)
            machine = replace(machine, near=cached)
        names = [entry.name for entry in profile.objects]
        moved = _moved(case, program, traffic, names)
        stored = stored_share(case, program, stand_in_input, machine)
        checks = checked(program.figures, f"{case.program}: {case.input}", profile, PHASE)
        return _PreparedCase(traffic, moved, machine, model, 1.0 - unmoved, stored, checks)


def _input_of(case: MemoryCase, program: StandIn, text: str) -> StandInInput:
    kind = program.input_of(f"{case.program}: {text}")
    if kind is None:
        raise NearfarError(f"{program.name} has no input for {text!r}: add it")
    return kind


def _near_ns(
    case: MemoryCase, stand_in_input: StandInInput, phase: PhaseTraffic, threads: float
) -> Estimate:
    """Return the phase's CPU time in ns, from the time or rate of the source's near run."""
    operations = phase.operations or 1.0
    if case.near_seconds is not None and stand_in_input.operations:
        value = case.near_seconds * 1e9 * threads * operations / stand_in_input.operations
    elif case.near_rate is not None and stand_in_input.rate_per_operation:
        # A rate per process is one thread's; any other rate is that of all threads.
        shared = 1.0 if "process" in case.rate_unit else threads
        value = stand_in_input.rate_per_operation / case.near_rate * 1e9 * shared * operations
    elif stand_in_input.near_ns_per_operation:
        value = stand_in_input.near_ns_per_operation * operations
        return Estimate(value, value / ASSUMED_TIME_FACTOR, value * ASSUMED_TIME_FACTOR)
    else:
        return phase.near_time_ns
    return Estimate(value, value, value)


def _moved(
    case: MemoryCase, program: StandIn, traffic: PhaseTraffic, names: Sequence[str]
) -> Array:
    """Return the traffic that a placement moves to far memory, shape (COLUMNS,)."""
    if case.placement in ("all-far", "Memory Mode") or case.placement.startswith("all-far"):
        return traffic.total
    entry = _placement_entry(case, program)
    if entry is not None:
        ends = tuple(f", {name}" for name in entry["objects"])
        chosen = [i for i, name in enumerate(names) if name.endswith(ends)]
        return np.asarray(traffic.objects[chosen].sum(axis=0))
    if "1:1" in case.placement:
        return traffic.total * 0.5
    raise NearfarError(f"{program.name}: the placement {case.placement!r} is not known: add it")


def _placement_entry(case: MemoryCase, program: StandIn) -> dict[str, Any] | None:
    """Return the program's entry for the case's placement; None if it has no such entry."""
    entries = program.placements.items()
    return next((entry for words, entry in entries if re.search(words, case.placement)), None)


def stored_share(
    case: MemoryCase, program: StandIn, kind: StandInInput, machine: CaseMachine
) -> Estimate:
    """Return the time of copies that only the far run makes, divided by near time.

    In the far run one thread copies data within near memory, then to far memory by non-temporal
    stores.
    """
    bytes_per_operation = (_placement_entry(case, program) or {}).get("stored_bytes", 0)
    if not bytes_per_operation or not kind.operations or case.near_seconds is None:
        return Estimate(0.0, 0.0, 0.0)
    near_read = curves.bandwidth(machine.near, "read", threads=1).value_gb_per_s
    near_write, far_write = (
        curves.bandwidth(device, "nt-store", threads=1).value_gb_per_s
        for device in (machine.near, machine.far)
    )
    ns = (
        bytes_per_operation
        * kind.operations
        * (2.0 / near_read + 1.0 / near_write + 1.0 / far_write)
    )
    value = ns * 1e-9 / case.near_seconds
    return Estimate(value, value / ASSUMED_TIME_FACTOR, value * ASSUMED_TIME_FACTOR)


def _slowdown(prepared: _PreparedCase) -> Estimate:
    """Return the slowdown with its interval."""
    ends = _slowdown_of_moved(prepared)
    low, value, high = (
        1.0 + (each - 1.0) * prepared.moved_share for each in (ends.low, ends.value, ends.high)
    )
    return _plus(Estimate(value, low, high), prepared.stored)


def _slowdown_of_moved(prepared: _PreparedCase) -> Estimate:
    """Return the slowdown of the part of near time that memory may change.

    If the placement moves only some traffic, the interval is narrower in proportion.
    """
    near = near_memory(prepared.machine.near, core=_core(prepared))
    far = far_memory(prepared.machine.far, near)
    kind = MODELS.get(prepared.model)
    model: Model = kind(prepared.traffic, near, far)
    near_ns = prepared.traffic.near_time_ns.value
    all_far = far_estimate(kind, prepared.traffic, near, far, model).slowdown
    value = float(model.times_ns(prepared.moved)) / near_ns
    if prepared.moved is prepared.traffic.total or all_far.value == 1.0:
        low = min(max(all_far.low, MIN_SLOWDOWN), all_far.value)
        return Estimate(all_far.value, low, all_far.high)
    # Moving some traffic causes no larger error than moving all of it.
    scale = min(max((value - 1.0) / (all_far.value - 1.0), 0.0), 1.0)
    return Estimate(
        value,
        min(max(value - scale * (all_far.value - all_far.low), MIN_SLOWDOWN), value),
        value + scale * (all_far.high - all_far.value),
    )


def _core(prepared: _PreparedCase) -> CoreFigures:
    return core_behind(prepared.machine.near, prepared.machine.core)


def _plus(first: Estimate, second: Estimate) -> Estimate:
    return Estimate(first.value + second.value, first.low + second.low, first.high + second.high)


def _divided(slowdown: Estimate, base: Estimate) -> Estimate:
    """Return `slowdown` divided by the value of `base`, whose interval is not used."""
    return Estimate(
        slowdown.value / base.value,
        slowdown.low / base.value,
        max(slowdown.high / base.value, slowdown.value / base.value),
    )
