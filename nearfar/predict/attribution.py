"""Attribution of the difference of two predictions to their inputs.

Inputs form groups, and the slowdown is computed again for every choice of each group's side. A
group's effect is its Shapley value: the change of the slowdown when it goes from A's side to B's,
averaged over all orders of the groups. Effects add up to the difference. What no group explains
(another version, a file that changed) is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial, hypot, inf, log

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
from nearfar.predict.phases import busy_threads, phases_of
from nearfar.predict.shared_channels import channel_sharing
from nearfar.predict.traffic import PhaseTraffic

MIN_EFFECT = 5e-4
"""Smallest effect on a slowdown that is named; slowdowns are printed to 0.01."""

FAR_MEMORY = "far memory"

SHOWN_CHAINS = 8
"""Chains whose cost describes a chains curve: a core's usual misses in flight."""


@dataclass(frozen=True, kw_only=True)
class LoadedInputs:
    """Documents and options behind one prediction."""

    workload: WorkloadProfile
    near: DeviceProfile
    fars: Mapping[str, DeviceProfile]
    """Far memories, by the name that both predictions use."""
    model: str
    host: HostRule
    phases: tuple[str, ...] = ()
    page_bytes: int | None = None
    machine: MachineProfile | None = None
    core: CoreFigures | None = None

    def slowdown(self, far: str) -> float:
        """Return the slowdown of the whole run with everything in `far`."""
        return self.slowdowns([self.fars[far]], self.traffic())[0]

    def traffic(self) -> list[PhaseTraffic]:
        """Return the traffic of the predicted phases."""
        return phases_of(self.workload, list(self.phases) or None)

    def slowdowns(
        self, devices: Sequence[DeviceProfile], traffic: Sequence[PhaseTraffic]
    ) -> list[float]:
        """Return the slowdown of the whole run with everything in each of `devices`."""
        machine, _ = machine_of(self.machine, self.near)
        core = core_behind(self.near, self.core, machine)
        near = near_memory(self.near, self.page_bytes, core)
        kind = MODELS.get(self.model)
        near_ns = sum(phase.near_time_ns.value for phase in traffic)
        slowdowns = []
        for device in devices:
            memory = far_memory(device, near, self.host)
            memory = replace(memory, channel_sharing=channel_sharing(machine, self.near, device))
            far_ns = sum(
                float(kind(phase, near, memory).times_ns(phase.total)) for phase in traffic
            )
            slowdowns.append(far_ns / near_ns if near_ns > 0.0 else 1.0)
        return slowdowns


@dataclass(frozen=True)
class _Group:
    """Inputs that change sides together."""

    name: str
    part: Callable[[LoadedInputs], object]
    """The inputs that are compared."""
    take: Callable[[LoadedInputs, LoadedInputs], LoadedInputs]
    """The first inputs with this group's of the second."""
    text: Callable[[LoadedInputs], str]


Pair = tuple[str, str]
"""A text about A and one about B."""

Slowdowns = Mapping[frozenset[str], float]
"""The slowdown, by the set of groups taken from B."""


def attributions(
    a: LoadedInputs, b: LoadedInputs, slowdowns: Mapping[str, tuple[Estimate, Estimate]]
) -> list[Attribution]:
    """Return the causes for each far memory of `slowdowns`; refuse profiles whose phases differ."""
    phases = [{phase.name for phase in inputs.workload.phases} for inputs in (a, b)]
    if phases[0] != phases[1]:
        raise NearfarError(
            f"the two profiles have different phases ({', '.join(sorted(phases[0] ^ phases[1]))} "
            "in "
            "one alone): profile the same program"
        )
    texts = {
        group.name: (group.text(a), group.text(b))
        for group in GROUPS
        if group.part(a) != group.part(b)
    }
    mixed = _mixed_slowdowns(a, b, list(texts), list(slowdowns))
    return [
        _attribution(far, pair, mixed[far], texts | {FAR_MEMORY: _far_texts(a, b, far)})
        for far, pair in slowdowns.items()
    ]


def _mixed_slowdowns(
    a: LoadedInputs, b: LoadedInputs, differing: Sequence[str], fars: Sequence[str]
) -> dict[str, dict[frozenset[str], float]]:
    """Return, for each far memory, A's slowdown with every subset of groups taken from B.

    Each mix of inputs is made once for all memories, and the traffic of each profile once.
    """
    groups = [group for group in GROUPS if group.name in differing]
    mixes, traffic = {frozenset[str](): a}, {id(a.workload): a.traffic()}
    slowdowns: dict[str, dict[frozenset[str], float]] = {far: {} for far in fars}
    others = {far for far in fars if _differ(a.fars[far], b.fars[far])}
    devices = [a.fars[far] for far in fars] + [b.fars[far] for far in fars if far in others]
    for group in groups:
        mixes |= {chosen | {group.name}: group.take(mix, b) for chosen, mix in mixes.items()}
    for chosen, mix in mixes.items():
        if id(mix.workload) not in traffic:
            traffic[id(mix.workload)] = mix.traffic()
        computed = iter(mix.slowdowns(devices, traffic[id(mix.workload)]))
        for far in fars:
            slowdowns[far][chosen] = next(computed)
        for far in fars:
            if far in others:
                slowdowns[far][chosen | {FAR_MEMORY}] = next(computed)
    return slowdowns


def _attribution(
    far: str, pair: tuple[Estimate, Estimate], mixed: Slowdowns, texts: Mapping[str, Pair]
) -> Attribution:
    """Return the causes of the difference of two predicted slowdowns."""
    differing = sorted(frozenset().union(*mixed))
    effects = {name: _shapley(name, differing, mixed) for name in differing}
    causes = [
        InputCause(input=name, a=texts[name][0], b=texts[name][1], effect=effect)
        for name, effect in effects.items()
        if abs(effect) >= MIN_EFFECT
    ]
    rest = pair[1].value - pair[0].value - sum(effects.values())
    if abs(rest) >= MIN_EFFECT:
        causes.append(InputCause(input="the rest", a="", b="", effect=rest))
    causes.sort(key=lambda cause: -abs(cause.effect))
    return unattributed(far, *pair, causes)


def _differ(a: DeviceProfile, b: DeviceProfile) -> bool:
    """Return whether the figures of two far memories differ; the time of reading does not count."""
    return a != msgspec.structs.replace(b, producer=a.producer, title=a.title)


def _far_texts(a: LoadedInputs, b: LoadedInputs, far: str) -> Pair:
    first, second = (
        f"{curves.idle_read_latency_ns(inputs.fars[far]).value_ns:.0f} ns" for inputs in (a, b)
    )
    return first, second


def unattributed(
    far: str, a: Estimate, b: Estimate, causes: list[InputCause] | None = None
) -> Attribution:
    """Return whether two slowdowns agree, with `causes` of their difference if they are known."""
    return Attribution(far=far, a=a, b=b, agree=_agree(a, b), causes=causes or [])


def _agree(a: Estimate, b: Estimate) -> bool:
    low, high = (a, b) if a.value < b.value else (b, a)
    if low.value <= 0.0 or high.low <= 0.0:
        return False
    tolerance = hypot(log(low.high / low.value), log(high.value / high.low))
    return log(high.value / low.value) <= tolerance


def _shapley(name: str, differing: Sequence[str], mixed: Slowdowns) -> float:
    others, count = [other for other in differing if other != name], len(differing)
    effect = 0.0
    for size in range(count):
        weight = factorial(size) * factorial(count - size - 1) / factorial(count)
        for chosen in combinations(others, size):
            before = frozenset(chosen)
            effect += weight * (mixed[before | {name}] - mixed[before])
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


def _threads(inputs: LoadedInputs) -> dict[str, float]:
    """Return the mean number of threads at work in each phase, as predictions compute it."""
    seen = max(1.0, float(inputs.workload.program.threads_seen))
    return {phase.name: min(busy_threads([phase]), seen) for phase in _named_phases(inputs)}


def _with_threads(inputs: LoadedInputs, like: LoadedInputs) -> LoadedInputs:
    """Return `inputs` with as many threads at work in each phase as in `like`."""
    threads = _threads(like)
    phases = [
        msgspec.structs.replace(
            phase,
            near_wall_time_ns=phase.near_cpu_time_ns.value / threads.get(phase.name, 1.0),
        )
        for phase in inputs.workload.phases
    ]
    program = msgspec.structs.replace(
        inputs.workload.program, threads_seen=like.workload.program.threads_seen
    )
    workload = msgspec.structs.replace(inputs.workload, phases=phases, program=program)
    return replace(inputs, workload=workload)


def _threads_text(inputs: LoadedInputs) -> str:
    threads = _threads(inputs)
    cpu_ns = {phase.name: phase.near_cpu_time_ns.value for phase in _named_phases(inputs)}
    wall_ns = sum(ns / threads[name] for name, ns in cpu_ns.items())
    return f"{sum(cpu_ns.values()) / (wall_ns or inf):.2f} threads at work"


def _times_text(inputs: LoadedInputs) -> str:
    phases = _named_phases(inputs)
    counted = [phase for phase in phases if phase.operations]
    if counted:
        return ", ".join(f"{phase.name} {format_ns(_time_ns(phase))}/op" for phase in counted)
    return format_ns(sum(phase.near_cpu_time_ns.value for phase in phases))


def _misses_text(inputs: LoadedInputs) -> str:
    misses = sum(row.traffic.misses() for p in _named_phases(inputs) for row in p.objects)
    return f"{misses:.3g} with a cache of {format_bytes(inputs.workload.cache.size_bytes)}"


def _latencies_text(inputs: LoadedInputs) -> str:
    near = inputs.near
    latency = curves.idle_read_latency_ns(near).value_ns
    pages = inputs.page_bytes or program_page_bytes(near)
    costs = [f.value_ns for f in chains(near, pages) if f.chains == SHOWN_CHAINS]
    several = f", {costs[0]:.1f} ns with {SHOWN_CHAINS} chains" if costs else ""
    return f"{latency:.0f} ns{several}"


def _bandwidths_text(inputs: LoadedInputs) -> str:
    return f"{curves.bandwidth(inputs.near, 'read', threads=1).value_gb_per_s:.1f} GB/s of one core"


def _options_text(inputs: LoadedInputs) -> str:
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
        lambda inputs: (
            [(p.name, p.objects, p.operations) for p in _named_phases(inputs)],
            inputs.workload.cache,
            inputs.workload.bursts,
        ),
        lambda mixed, b: _with_threads(
            _with_times(replace(mixed, workload=b.workload), mixed), mixed
        ),
        _misses_text,
    ),
    _Group(
        "near time",
        lambda inputs: [(p.name, _time_ns(p)) for p in _named_phases(inputs)],
        _with_times,
        _times_text,
    ),
    _Group(
        "threads",
        _threads,
        _with_threads,
        _threads_text,
    ),
    _Group(
        "near latencies",
        lambda inputs: _latencies(inputs.near),
        lambda mixed, b: replace(
            mixed,
            near=msgspec.structs.replace(
                b.near,
                bandwidth=mixed.near.bandwidth,
                producer=mixed.near.producer,
                capacity_bytes=mixed.near.capacity_bytes,
            ),
        ),
        _latencies_text,
    ),
    _Group(
        "near bandwidths",
        lambda inputs: inputs.near.bandwidth,
        lambda mixed, b: replace(
            mixed, near=msgspec.structs.replace(mixed.near, bandwidth=b.near.bandwidth)
        ),
        _bandwidths_text,
    ),
    _Group(
        "near capacity",
        lambda inputs: inputs.near.capacity_bytes if inputs.model == "memory-mode" else None,
        lambda mixed, b: replace(
            mixed, near=msgspec.structs.replace(mixed.near, capacity_bytes=b.near.capacity_bytes)
        ),
        lambda inputs: format_bytes(inputs.near.capacity_bytes or 0),
    ),
    _Group(
        "core",
        lambda inputs: (inputs.near.producer.processor, inputs.core),
        lambda mixed, b: replace(
            mixed,
            core=b.core,
            near=msgspec.structs.replace(mixed.near, producer=b.near.producer),
        ),
        lambda inputs: inputs.core.name if inputs.core else inputs.near.producer.processor,
    ),
    _Group(
        "model",
        lambda inputs: (inputs.model, inputs.host, inputs.page_bytes, inputs.machine),
        lambda mixed, b: replace(
            mixed, model=b.model, host=b.host, page_bytes=b.page_bytes, machine=b.machine
        ),
        _options_text,
    ),
)
"""All groups except the far memory, in the order in which they are applied."""
