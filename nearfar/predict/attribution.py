"""Attribution of the difference of two predictions to their inputs.

Inputs form groups, and the slowdown is computed again for every choice of each group's side. A
group's effect is its Shapley value: the change of the slowdown when it goes from A's side to B's,
averaged over all orders of the groups. Effects add up to the difference. What no group explains
(another version, a file that changed) is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial, hypot, log

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_bytes, format_ns
from nearfar.devices import curves
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile
from nearfar.documents.attribution import Attribution, InputCause
from nearfar.documents.core import CoreFigures
from nearfar.documents.prediction import HostRule
from nearfar.documents.workload import Phase
from nearfar.predict.cores import core_behind, machine_of
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.device_figures import chains, program_page_bytes
from nearfar.predict.model import MODELS
from nearfar.predict.phases import phases_of
from nearfar.predict.shared_channels import channel_sharing

MIN_EFFECT = 5e-4
"""Smallest effect on a slowdown that is named; slowdowns are printed to 0.01."""

SHOWN_CHAINS = 8
"""Chains whose cost describes a chains curve: a core's usual misses in flight."""


@dataclass(frozen=True, kw_only=True)
class LoadedInputs:
    """Documents and options that one prediction is made from."""

    workload: WorkloadProfile
    near: DeviceProfile
    fars: Mapping[str, DeviceProfile]
    """By the name that both predictions use."""
    model: str
    host: HostRule
    phases: tuple[str, ...] = ()
    page_bytes: int | None = None
    machine: MachineProfile | None = None
    core: CoreFigures | None = None

    def slowdown(self, far: str) -> float:
        """Return the slowdown of the whole run with everything in `far`."""
        traffic = phases_of(self.workload, list(self.phases) or None)
        machine, _ = machine_of(self.machine, self.near)
        core = core_behind(self.near, self.core, machine)
        near = near_memory(self.near, self.page_bytes, core)
        device = self.fars[far]
        memory = far_memory(device, near, self.host)
        memory = replace(memory, channel_sharing=channel_sharing(machine, self.near, device))
        kind = MODELS.get(self.model)
        far_ns = sum(float(kind(phase, near, memory).times_ns(phase.total)) for phase in traffic)
        near_ns = sum(phase.near_time_ns.value for phase in traffic)
        return far_ns / near_ns if near_ns > 0.0 else 1.0


@dataclass(frozen=True)
class _Group:
    """Inputs that change sides together."""

    name: str
    part: Callable[[LoadedInputs, str], object]
    """The inputs that are compared, for one far memory."""
    take: Callable[[LoadedInputs, LoadedInputs, str], LoadedInputs]
    """The first inputs with this group's of the second."""
    text: Callable[[LoadedInputs, str], str]


def attribution(
    far: str, a: LoadedInputs, b: LoadedInputs, slowdowns: tuple[Estimate, Estimate]
) -> Attribution:
    """Return the causes of the difference of two predicted slowdowns."""
    differing = [group for group in GROUPS if group.part(a, far) != group.part(b, far)]
    known: dict[frozenset[int], float] = {}

    def slowdown(chosen: frozenset[int]) -> float:
        if chosen not in known:
            mixed = a
            for number in sorted(chosen):
                mixed = differing[number].take(mixed, b, far)
            known[chosen] = mixed.slowdown(far)
        return known[chosen]

    numbers = range(len(differing))
    effects = {number: _shapley(number, len(differing), slowdown) for number in numbers}
    causes = [
        InputCause(input=g.name, a=g.text(a, far), b=g.text(b, far), effect=effects[number])
        for number, g in enumerate(differing)
        if abs(effects[number]) >= MIN_EFFECT
    ]
    rest = slowdowns[1].value - slowdowns[0].value - sum(effects.values())
    if abs(rest) >= MIN_EFFECT:
        causes.append(InputCause(input="the rest", a="", b="", effect=rest))
    causes.sort(key=lambda cause: -abs(cause.effect))
    return unattributed(far, *slowdowns, causes)


def attributions(
    a: LoadedInputs, b: LoadedInputs, slowdowns: Mapping[str, tuple[Estimate, Estimate]]
) -> list[Attribution]:
    """Return the causes for each far memory of `slowdowns`; refuse programs with other phases."""
    phases = [{phase.name for phase in inputs.workload.phases} for inputs in (a, b)]
    if phases[0] != phases[1]:
        raise NearfarError(
            f"the two profiles have other phases ({', '.join(sorted(phases[0] ^ phases[1]))} in "
            "one alone): profile the same program"
        )
    return [attribution(far, a, b, pair) for far, pair in slowdowns.items()]


def unattributed(
    far: str, a: Estimate, b: Estimate, causes: list[InputCause] | None = None
) -> Attribution:
    """Return whether two slowdowns agree, with `causes` of their difference if they are known."""
    return Attribution(far=far, a=a, b=b, agree=_agree(a, b), causes=causes or [])


def _agree(a: Estimate, b: Estimate) -> bool:
    low, high = (a, b) if a.value < b.value else (b, a)
    if low.value <= 0.0 or high.low <= 0.0:
        return False
    room = hypot(log(low.high / low.value), log(high.value / high.low))
    return log(high.value / low.value) <= room


def _shapley(number: int, count: int, value: Callable[[frozenset[int]], float]) -> float:
    others = [other for other in range(count) if other != number]
    effect = 0.0
    for size in range(count):
        weight = factorial(size) * factorial(count - size - 1) / factorial(count)
        for chosen in combinations(others, size):
            before = frozenset(chosen)
            effect += weight * (value(before | {number}) - value(before))
    return effect


def _named_phases(inputs: LoadedInputs) -> list[Phase]:
    wanted = inputs.phases or tuple(phase.name for phase in inputs.workload.phases)
    return [phase for phase in inputs.workload.phases if phase.name in wanted]


def _time_ns(phase: Phase) -> float:
    """Return near time per operation, if operations were counted."""
    return phase.near_cpu_time_ns.value / (phase.operations or 1.0)


def _with_times(inputs: LoadedInputs, times: LoadedInputs) -> LoadedInputs:
    """Return `inputs` with the near times of `times`, for as many operations."""
    by_name = {phase.name: phase for phase in times.workload.phases}
    phases = []
    for phase in inputs.workload.phases:
        other = by_name.get(phase.name, phase)
        scale = _time_ns(other) / _time_ns(phase) if _time_ns(phase) > 0.0 else 1.0
        scaled = Estimate(*(scale * end for end in msgspec.structs.astuple(phase.near_cpu_time_ns)))
        phases.append(
            msgspec.structs.replace(
                phase,
                near_cpu_time_ns=scaled,
                near_wall_time_ns=scale * phase.near_wall_time_ns,
            )
        )
    return replace(inputs, workload=msgspec.structs.replace(inputs.workload, phases=phases))


def _times_text(inputs: LoadedInputs, _: str) -> str:
    phases = _named_phases(inputs)
    counted = [phase for phase in phases if phase.operations]
    if counted:
        return ", ".join(f"{phase.name} {format_ns(_time_ns(phase))}/op" for phase in counted)
    return format_ns(sum(phase.near_cpu_time_ns.value for phase in phases))


def _misses_text(inputs: LoadedInputs, _: str) -> str:
    misses = sum(row.traffic.misses() for p in _named_phases(inputs) for row in p.objects)
    return f"{misses:.3g} with a cache of {format_bytes(inputs.workload.cache.size_bytes)}"


def _latencies_text(inputs: LoadedInputs, _: str) -> str:
    near = inputs.near
    latency = curves.idle_read_latency_ns(near).value_ns
    pages = inputs.page_bytes or program_page_bytes(near)
    costs = [f.value_ns for f in chains(near, pages) if f.chains == SHOWN_CHAINS]
    several = f", {costs[0]:.1f} ns with {SHOWN_CHAINS} chains" if costs else ""
    return f"{latency:.0f} ns{several}"


def _bandwidths_text(inputs: LoadedInputs, _: str) -> str:
    return f"{curves.bandwidth(inputs.near, 'read', threads=1).value_gb_per_s:.1f} GB/s of one core"


def _options(inputs: LoadedInputs) -> tuple[object, ...]:
    return inputs.model, inputs.host, inputs.page_bytes, inputs.machine


def _options_text(inputs: LoadedInputs, _: str) -> str:
    pages = f", pages {format_bytes(inputs.page_bytes)}" if inputs.page_bytes else ""
    machine = "" if inputs.machine is None else f", machine {inputs.machine.cpu_model}"
    return f"{inputs.model}, host {inputs.host}{pages}{machine}"


def _latencies(device: DeviceProfile) -> tuple[object, ...]:
    measured = device.measured
    pages = measured and measured.environment.get("transparent_huge_pages")
    return device.latency, device.chains, device.loaded_latency, device.technology, pages


GROUPS = (
    _Group(
        "misses",
        lambda inputs, _: (
            [(p.name, p.objects, p.operations) for p in _named_phases(inputs)],
            inputs.workload.cache,
            inputs.workload.bursts,
        ),
        lambda mixed, b, _: _with_times(replace(mixed, workload=b.workload), mixed),
        _misses_text,
    ),
    _Group(
        "near time",
        lambda inputs, _: [(p.name, _time_ns(p)) for p in _named_phases(inputs)],
        lambda mixed, b, _: _with_times(mixed, b),
        _times_text,
    ),
    _Group(
        "near latencies",
        lambda inputs, _: _latencies(inputs.near),
        lambda mixed, b, _: replace(
            mixed,
            near=msgspec.structs.replace(
                b.near, bandwidth=mixed.near.bandwidth, producer=mixed.near.producer
            ),
        ),
        _latencies_text,
    ),
    _Group(
        "near bandwidths",
        lambda inputs, _: inputs.near.bandwidth,
        lambda mixed, b, _: replace(
            mixed, near=msgspec.structs.replace(mixed.near, bandwidth=b.near.bandwidth)
        ),
        _bandwidths_text,
    ),
    _Group(
        "far memory",
        lambda inputs, far: msgspec.structs.replace(
            inputs.fars[far], producer=inputs.near.producer, title=""
        ),
        lambda mixed, b, far: replace(mixed, fars={**mixed.fars, far: b.fars[far]}),
        lambda inputs, far: f"{curves.idle_read_latency_ns(inputs.fars[far]).value_ns:.0f} ns",
    ),
    _Group(
        "core",
        lambda inputs, _: (inputs.near.producer.cpu_model, inputs.core),
        lambda mixed, b, _: replace(
            mixed,
            core=b.core,
            near=msgspec.structs.replace(mixed.near, producer=b.near.producer),
        ),
        lambda inputs, _: inputs.core.name if inputs.core else inputs.near.producer.cpu_model,
    ),
    _Group(
        "model",
        lambda inputs, _: _options(inputs),
        lambda mixed, b, _: replace(
            mixed, model=b.model, host=b.host, page_bytes=b.page_bytes, machine=b.machine
        ),
        _options_text,
    ),
)
"""Applied in this order where several change sides."""
