"""Times of everything far by many models at once are those of each by itself."""

from __future__ import annotations

import msgspec
import pytest
import samples
import window_bursts

from nearfar.devices.library import device_names, load_device
from nearfar.documents import WorkloadProfile
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import FarEstimate, far_estimate, far_estimates
from nearfar.predict.model import MODELS, Model
from nearfar.predict.perturbations import host_perturbations, perturbations
from nearfar.predict.phases import phases_of


def workload(*, bursts: bool) -> WorkloadProfile:
    """Return a profile of two phases, or of one with bursts."""
    given = samples.workload(objects=12, phases=("-",) if bursts else ("load", "get"))
    recorded = window_bursts.many_bursts(("-",)) if bursts else None
    return msgspec.structs.replace(given, bursts=recorded)


@pytest.mark.parametrize("bursts", [False, True])
@pytest.mark.parametrize("name", ["best", "inversion", "counters"])
def test_perturbed_models_take_the_same_time_together_and_alone(name: str, bursts: bool):
    kind, near = MODELS.get(name), near_memory(samples.device())
    fars = [far_memory(load_device(far), near) for far in device_names()[::4]]

    def made() -> list[Model]:
        return [
            kind(phase, near, far, changed)
            for far in fars
            for phase in phases_of(workload(bursts=bursts))
            for changed in (*perturbations(kind, phase, near, far), *host_perturbations(far))
        ]

    together, alone = made(), made()
    kind.prepare_all_far(together)
    times = [float(model.times_ns(model.phase.total)) for model in together]
    expected = [float(model.times_ns(model.phase.total)) for model in alone]
    assert len(set(times)) > len(fars)
    assert times == pytest.approx(expected, rel=1e-12)


def test_estimates_come_in_the_order_of_their_cases():
    kind, near = MODELS.get("best"), near_memory(samples.device())
    traffic = phases_of(workload(bursts=False))
    fars = [near, *(far_memory(load_device(far), near) for far in device_names())]
    cases = [(far, kind(phase, near, far)) for far in fars for phase in traffic]
    together = far_estimates(kind, near, cases)
    for (far, model), estimate in zip(cases, together, strict=True):
        alone = far_estimate(kind, model.phase, near, far, model)
        assert _numbers(estimate) == pytest.approx(_numbers(alone), rel=1e-9)


def _numbers(estimate: FarEstimate) -> list[float]:
    parts = (estimate.far_time_ns, estimate.slowdown, estimate.quiet_slowdown)
    return [number for part in parts for number in msgspec.structs.astuple(part)]
