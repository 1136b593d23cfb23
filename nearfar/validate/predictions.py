"""Every model's prediction of one measured run, from near time alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.validation import Inputs, KernelResult, ModelSlowdown
from nearfar.options.predict import PredictOptions
from nearfar.predict.api import predict
from nearfar.predict.memory import ProgramReads
from nearfar.predict.model import DEFAULT_MODEL, MODELS


def slowdowns(inputs: Inputs) -> tuple[dict[str, ModelSlowdown], dict[str, str], str]:
    """Return each model's slowdown, why other models have none, and what bounds the program.

    The run measured in far memory is not among the inputs, so no model can have seen it.
    """
    predictions: dict[str, ModelSlowdown] = {}
    lacking: dict[str, str] = {}
    bound = ""
    for name in MODELS.names():
        if not MODELS.get(name).everything_far:
            lacking[name] = "it does not put all data into far memory, as the measured run does"
            continue
        try:
            prediction = predict(
                PredictOptions(
                    profile=inputs.workload,
                    near=inputs.near,
                    far=[inputs.far],
                    model=name,
                    phase=inputs.phases,
                    pages=f"{inputs.page_bytes}B" if inputs.page_bytes else None,
                    max_objects=1,
                ),
                far_page_bytes=inputs.far_page_bytes,
                own=ProgramReads(
                    far_ns=inputs.far_own_ns,
                    near_ns=inputs.near_own_ns,
                    far_independent_ns=inputs.far_own_independent_ns,
                    near_independent_ns=inputs.near_own_independent_ns,
                    size_bytes=_own_bytes(inputs),
                ),
            )
        except NearfarError as error:
            lacking[name] = str(error)
            continue
        total = prediction.devices[0].total
        predictions[name] = ModelSlowdown(
            slowdown=total.slowdown.value, low=total.slowdown.low, high=total.slowdown.high
        )
        if name == DEFAULT_MODEL:
            bound = total.bound
    return predictions, lacking, bound


def _own_bytes(inputs: Inputs) -> float:
    """Return the size of a kernel's data; infinite, the curves' largest region, for programs."""
    if not inputs.phases:
        return inf
    return float(sum(each.peak_live_bytes for each in inputs.workload.objects))


def predict_again(result: KernelResult) -> KernelResult:
    """Return a kept result with predictions by the models of this nearfar."""
    if result.inputs is None:
        raise NearfarError(
            f"{result.name} of session {result.session} was stored without its inputs: it cannot "
            "be predicted again"
        )
    models, lacking, bound = slowdowns(result.inputs)
    return msgspec.structs.replace(result, models=models, lacking=lacking, bound=bound)


def with_near_time(
    workload: WorkloadProfile, near_ns: Estimate, phase: str | None, runs: int
) -> WorkloadProfile:
    """Return the profile with the near time measured in the session.

    `near_ns` is the time of one run; the profile has `runs` runs. The phases of a whole program
    (`phase` None) keep their shares of its time.
    """
    before = {timed.name: timed.near_cpu_time_ns.value for timed in workload.phases}
    factors: Mapping[str, float]
    if phase is not None:
        factors = {phase: runs / max(before[phase], 1.0)}
    else:
        total = max(sum(before.values()), 1.0)
        factors = dict.fromkeys(before, 1.0 / total)
    phases = []
    for old in workload.phases:
        if old.name not in factors:
            phases.append(old)
            continue
        share = factors[old.name] * before[old.name]
        time = Estimate(near_ns.value * share, near_ns.low * share, near_ns.high * share)
        wall = old.near_wall_time_ns * (time.value / before[old.name] if before[old.name] else 1.0)
        phases.append(msgspec.structs.replace(old, near_cpu_time_ns=time, near_wall_time_ns=wall))
    # Bytes alive over time are for reports; no model reads them.
    return msgspec.structs.replace(workload, phases=phases, live=[])


def misses_of(workload: WorkloadProfile, phase: str | None) -> float:
    """Return the misses of a phase; None: of all phases."""
    return sum(
        row.traffic.misses()
        for counted in workload.phases
        if phase in (None, counted.name)
        for row in counted.objects
    )
