"""Make a report from options: predict, plan, then prepare the page's data."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.units import parse_budget_bytes
from nearfar.devices.library import load_device, load_devices
from nearfar.documents import (
    DeviceProfile,
    Plan,
    Prediction,
    RunRecord,
    WorkloadProfile,
    loaded,
    producer,
)
from nearfar.documents.attribution import Attribution
from nearfar.documents.prediction import HostRule
from nearfar.options.place import PlaceOptions
from nearfar.options.predict import PredictOptions
from nearfar.options.report import ReportOptions
from nearfar.place.api import place_phases
from nearfar.place.evaluation import evaluate
from nearfar.place.problem import Problem, placed_bytes
from nearfar.place.search import greedy_near_shares
from nearfar.predict import interval
from nearfar.predict.api import predict
from nearfar.predict.attribution import LoadedInputs, attributions
from nearfar.predict.inputs import load_inputs
from nearfar.predict.model import MODELS
from nearfar.report.answer import SHARES
from nearfar.report.busy_server import busy_server
from nearfar.report.data import TOTAL, ReportData
from nearfar.report.field_rows import field_rows
from nearfar.report.frontiers import SliderStop
from nearfar.report.paged import paged_facts, without_paged
from nearfar.report.prepare import check_phase, prepare


def report(options: ReportOptions) -> ReportData:
    """Return the report's data: every far memory, every phase, the headline's budgets.

    Raises NearfarError if predict or place raises it.
    """
    profile, near = loaded(options.profile, WorkloadProfile), load_device(options.near)
    plans = [
        (plan.name if isinstance(plan, Path) else f"plan {number}", loaded(plan, Plan))
        for number, plan in enumerate(options.plan, 1)
    ]
    against = None if options.against is None else _against(options.against)
    check_phase(profile, options.phase)
    fars, beside = distinct(near, load_devices(options.far), load_devices(options.device))
    fars, paged = without_paged(fars)
    check_plans(profile, near, fars, plans)
    if not profile.phases:
        # Nothing was measured, so nothing is predicted; the page states this.
        empty = Prediction(producer=producer(), profile="", near=near.name, model="", devices=[])
        return prepare(profile, near, fars, empty, [], beside=beside)
    host, count = options.host, len(profile.objects)
    prediction = predict(
        PredictOptions(profile=profile, near=near, far=fars, host=host, max_objects=count),
        explain_largest=True,
    )
    footprint = placed_bytes(profile.objects)
    budgets = {int(share * footprint): f"{share * 100:.0f} %" for share in SHARES}
    first = None
    if options.budget is not None:
        first = parse_budget_bytes(options.budget, footprint)
        budgets.setdefault(first, f"--budget {options.budget}")
    elif plans:
        first = plans[0][1].budget_bytes
    made, stops = _plans(profile, near, fars, budgets, host)
    data = prepare(
        profile,
        near,
        fars,
        prediction,
        [*made, *plans],
        stops=stops,
        beside=beside,
        first_memory=plans[0][1].far if plans else None,
        first_phase=options.phase,
        first_budget_bytes=first,
        source_folders=list(options.sources),
        how=how_predicted(prediction.model),
    )
    data.busy_server = busy_server(profile, near, fars, prediction, host)
    data.paged = paged_facts(profile, paged, [loaded(each, RunRecord) for each in options.record])
    data.fields = field_rows(profile, near, fars, prediction, host)
    if against is not None:
        inputs = LoadedInputs(
            workload=profile,
            near=near,
            fars={far.name: far for far in fars},
            model=prediction.model,
            host=host,
        )
        data.method.attributions = _attributions(against, prediction, inputs)
    return data


def _against(path: Path | Prediction) -> tuple[Prediction, LoadedInputs]:
    """Load the prediction to compare with; return it and its inputs."""
    other = loaded(path, Prediction)
    return other, load_inputs(other, path.parent if isinstance(path, Path) else Path())


def _attributions(
    against: tuple[Prediction, LoadedInputs], prediction: Prediction, inputs: LoadedInputs
) -> list[Attribution]:
    """Return what makes `prediction` differ from another, for the far memories that both have."""
    other, its_inputs = against
    before = {device.far: device.total.slowdown for device in other.devices}
    pairs = {
        device.far: (before[device.far], device.total.slowdown)
        for device in prediction.devices
        if device.far in before
    }
    if not pairs:
        raise NearfarError(
            f"the prediction to compare with has none of the page's far memories: it has "
            f"{', '.join(before)}"
        )
    return attributions(its_inputs, inputs, pairs)


def _plans(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    budgets: Mapping[int, str],
    host: HostRule,
) -> tuple[list[tuple[str, Plan]], dict[tuple[str, str], list[SliderStop]]]:
    """Return (origin, plan) for each budget, and slider stops by (far memory, phase)."""
    phases = [TOTAL, *(p.name for p in profile.phases)] if profile.objects else []
    sizes = sorted(budgets.items())
    options = PlaceOptions(profile=[profile], near=near, far=fars, host=host, details=False)
    made: list[tuple[str, Plan]] = []
    stops: dict[tuple[str, str], list[SliderStop]] = {}
    grid = ladder_budgets(placed_bytes(profile.objects))
    budget_texts = [f"{bytes_}B" for bytes_, _ in sizes]
    placed = place_phases(options, budget_texts, phases) if phases else []
    for (far, name), (problem, plans) in zip(product(fars, phases), placed, strict=True):
        made += [(origin, plan) for (_, origin), plan in zip(sizes, plans, strict=True)]
        stops[far.name, name] = ladder(problem, grid)
    return made, stops


def distinct(
    near: DeviceProfile, fars: Sequence[DeviceProfile], beside: Sequence[DeviceProfile]
) -> tuple[list[DeviceProfile], list[DeviceProfile]]:
    """Return `fars` and `beside` with distinct names: a second ``dram`` becomes ``dram-2``.

    Two measurements of one kind of memory have the same name, and a far memory may be the near
    memory itself.
    """
    seen = {near.name: 1}

    def with_number(device: DeviceProfile) -> DeviceProfile:
        number = seen[device.name] = seen.get(device.name, 0) + 1
        if number == 1:
            return device
        name, title = f"{device.name}-{number}", f"{device.title} ({number})"
        return msgspec.structs.replace(device, name=name, title=title)

    return [with_number(device) for device in fars], [with_number(device) for device in beside]


def check_plans(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    plans: Sequence[tuple[str, Plan]],
) -> None:
    """Refuse a plan of other memories, another phase or another profile's objects."""
    names = [far.name for far in fars]
    objects = {owner.id: owner.name for owner in profile.objects}
    for origin, plan in plans:
        if plan.far not in names:
            raise NearfarError(
                f"{origin} was made for the far memory {plan.far!r}, which is not on this page"
                f"{nearest(plan.far, names)}; add --far {plan.far}"
            )
        if plan.near != near.name:
            raise NearfarError(
                f"{origin} was made for the near memory {plan.near!r}, and this page is about "
                f"{near.name!r}: make it again with nearfar place"
            )
        if any(objects.get(p.object) != p.name for p in plan.placements):
            raise NearfarError(
                f"{origin} places objects that this profile does not have: "
                "make it again from this profile with nearfar place"
            )
        check_phase(profile, plan.phase)


def how_predicted(model: str) -> list[str]:
    """Return paragraphs on `model` and on intervals; a list item starts with ``- ``.

    The paragraphs are the docstrings of the modules that compute, so page and code agree.
    """
    module = sys.modules[MODELS.get(model).__module__]
    return [*paragraphs(module.__doc__ or ""), *paragraphs(interval.__doc__ or "")]


def paragraphs(docstring: str) -> list[str]:
    """Split a docstring into paragraphs and list items, each on one line."""
    texts: list[str] = []
    start_new = True
    for line in inspect.cleandoc(docstring).replace("``", "").splitlines():
        text = line.strip()
        if not text:
            start_new = True
        elif start_new or text.startswith("- "):
            texts.append(text)
            start_new = False
        else:
            texts[-1] += f" {text}"
    return texts


STEP_PERCENT = 0.5
"""The slider's step: budgets on the page are multiples of it."""


def ladder_budgets(footprint_bytes: int) -> list[int]:
    """Return the slider's budgets, bytes, from nothing to everything."""
    steps = round(100 / STEP_PERCENT)
    return [int((STEP_PERCENT * step / 100) * footprint_bytes) for step in range(steps + 1)]


def ladder(problem: Problem, budgets_bytes: list[int]) -> list[SliderStop]:
    """Return the greedy plan of each budget, as `nearfar place` computes it."""
    shares = greedy_near_shares(problem, budgets_bytes)
    plans = evaluate(problem, problem.in_first_far(shares))
    return [
        SliderStop(
            budget_bytes=budget,
            near=np.flatnonzero(row).tolist(),
            near_bytes=plan.near_bytes,
            time_ns=plan.time_ns,
            slowdown=plan.slowdown,
            cost_relative=plan.cost_relative,
        )
        for budget, row, plan in zip(budgets_bytes, shares, plans, strict=True)
    ]
