"""Every model's prediction of one measured run, from near time alone."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.validation import Inputs, KernelResult, ModelSlowdown
from nearfar.predict.api import predict
from nearfar.predict.model import DEFAULT_MODEL, MODELS


def slowdowns(inputs: Inputs) -> tuple[dict[str, ModelSlowdown], dict[str, str], str]:
    """Return what each registered model says, why others cannot, and what bounds the program.

    The run measured in far memory is not among the inputs: nothing here can have seen it.
    """
    found: dict[str, ModelSlowdown] = {}
    lacking: dict[str, str] = {}
    bound = ""
    for name in MODELS.names():
        if not MODELS.get(name).everything_far:
            lacking[name] = "it does not put everything into far memory, which is what was measured"
            continue
        try:
            made = predict(
                inputs.workload,
                inputs.near,
                [inputs.far],
                name,
                phases=inputs.phases or None,
                page_bytes=inputs.page_bytes,
                far_page_bytes=inputs.far_page_bytes,
                far_own_ns=inputs.far_own_ns,
                near_own_ns=inputs.near_own_ns,
                most_objects=1,
            )
        except NearfarError as error:
            lacking[name] = str(error)
            continue
        total = made.devices[0].total
        found[name] = ModelSlowdown(
            slowdown=total.slowdown.value, low=total.slowdown.low, high=total.slowdown.high
        )
        if name == DEFAULT_MODEL:
            bound = total.bound
    return found, lacking, bound


def again(result: KernelResult) -> KernelResult:
    """Return a result as the models of today predict it, from what was known before it was run."""
    if result.inputs is None:
        raise NearfarError(f"{result.name} of session {result.session} was kept without its inputs")
    models, lacking, bound = slowdowns(result.inputs)
    return msgspec.structs.replace(result, models=models, lacking=lacking, bound=bound)


def with_near_time(
    workload: WorkloadProfile, near_ns: Estimate, phase: str | None, runs: int
) -> WorkloadProfile:
    """Return the profile with near time as measured in the loop.

    `near_ns` is of one run; the profile holds `runs` of them. Of a whole program (`phase` None)
    the phases keep the shares that they had of its time.
    """
    before = {one.name: one.near_cpu_time_ns.value for one in workload.phases}
    factors: Mapping[str, float]
    if phase is not None:
        factors = {phase: runs / max(before[phase], 1.0)}
    else:
        whole = max(sum(before.values()), 1.0)
        factors = dict.fromkeys(before, 1.0 / whole)
    phases = []
    for one in workload.phases:
        if one.name not in factors:
            phases.append(one)
            continue
        share = factors[one.name] * before[one.name]
        time = Estimate(near_ns.value * share, near_ns.low * share, near_ns.high * share)
        wall = one.near_wall_time_ns * (time.value / before[one.name] if before[one.name] else 1.0)
        phases.append(msgspec.structs.replace(one, near_cpu_time_ns=time, near_wall_time_ns=wall))
    # Bytes alive over time are for reports; nothing is predicted from them.
    return msgspec.structs.replace(workload, phases=phases, live=[])


def misses_of(workload: WorkloadProfile, phase: str | None) -> float:
    """Return the misses of one phase, or of all."""
    return sum(
        row.traffic.misses()
        for one in workload.phases
        if phase in (None, one.name)
        for row in one.objects
    )
