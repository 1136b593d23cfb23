"""Report from Python: predict and plan what the page needs, then prepare its data."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from nearfar.base.errors import NearfarError, nearest
from nearfar.documents import DeviceProfile, Plan, Prediction, WorkloadProfile, producer
from nearfar.documents.attribution import Attribution
from nearfar.documents.plan import Prices
from nearfar.documents.prediction import HostRule
from nearfar.place.api import place
from nearfar.place.budget import parse_budget_bytes
from nearfar.place.evaluation import evaluate
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import Problem, make_problem
from nearfar.predict import interval
from nearfar.predict.api import predict
from nearfar.predict.attribution import LoadedInputs, attributions
from nearfar.predict.model import MODELS
from nearfar.report.answer import SHARES
from nearfar.report.data import TOTAL, ReportData
from nearfar.report.frontiers import Stop
from nearfar.report.prepare import check_phase, prepare


def report(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    *,
    beside: Sequence[DeviceProfile] = (),
    plans: Sequence[tuple[str, Plan]] = (),
    budget: str | None = None,
    phase: str = TOTAL,
    source_folders: Sequence[Path] = (),
    prices: Prices | None = None,
    host: HostRule = "added",
    against: tuple[Prediction, LoadedInputs] | None = None,
) -> ReportData:
    """Return the report's data: every far memory, every phase, the headline's budgets.

    `host` is the rule for latencies published on another machine (see `predict`).
    `plans` are plans made before, each with its origin; `budget` one more budget (``2GiB``,
    ``25%``), which the page opens with. `against` is another prediction of this program with its
    inputs, which the page compares. Raises NearfarError where predict or place does.
    """
    check_phase(profile, phase)
    fars, beside = distinct(near, fars, beside)
    check_plans(profile, near, fars, plans)
    if not profile.phases:
        # Nothing was measured, so nothing is predicted; the page says so.
        empty = Prediction(producer=producer(), profile="", near=near.name, model="", devices=[])
        return prepare(profile, near, list(fars), empty, [], beside=list(beside))
    prediction = predict(
        profile, near, fars, host=host, max_objects=len(profile.objects), explain=None
    )
    footprint = sum(owner.size_bytes for owner in profile.objects)
    budgets = {int(share * footprint): f"{share * 100:.0f} %" for share in SHARES}
    first = None
    if budget is not None:
        first = parse_budget_bytes(budget, footprint)
        budgets.setdefault(first, f"--budget {budget}")
    elif plans:
        first = plans[0][1].budget_bytes
    first_memory = plans[0][1].far if plans else None
    made, stops = _plans(profile, near, fars, budgets, prices=prices, host=host)
    data = prepare(
        profile,
        near,
        list(fars),
        prediction,
        [*made, *plans],
        stops=stops,
        beside=list(beside),
        first_memory=first_memory,
        first_phase=phase,
        first_budget_bytes=first,
        source_folders=list(source_folders),
        how=how_predicted(prediction.model),
    )
    if against is not None:
        data.method.attributions = _attributions(against, prediction, (profile, near, fars))
    return data


def _attributions(
    against: tuple[Prediction, LoadedInputs],
    prediction: Prediction,
    documents: tuple[WorkloadProfile, DeviceProfile, Sequence[DeviceProfile]],
) -> list[Attribution]:
    """Return the causes of the difference to another prediction, for far memories of both."""
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
    inputs = LoadedInputs(
        workload=documents[0],
        near=documents[1],
        fars={far.name: far for far in documents[2]},
        model=prediction.model,
        host=prediction.host,
    )
    return attributions(its_inputs, inputs, pairs)


def _plans(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    budgets: Mapping[int, str],
    *,
    prices: Prices | None,
    host: HostRule,
) -> tuple[list[tuple[str, Plan]], dict[tuple[str, str], list[Stop]]]:
    """Return the plans of all budgets with their origin, and the slider's by memory and phase."""
    phases = [TOTAL, *(p.name for p in profile.phases)] if profile.objects else []
    made = [
        (
            origin,
            place(profile, near, far, bytes_, phase=name, prices=prices, host=host, details=False),
        )
        for far in fars
        for name in phases
        for bytes_, origin in sorted(budgets.items())
    ]
    grid = ladder_budgets(sum(owner.size_bytes for owner in profile.objects))
    stops = {
        (far.name, name): ladder(
            make_problem(profile, near, far, phase=name, prices=prices, host=host), grid
        )
        for far in fars
        for name in phases
    }
    return made, stops


def distinct(
    near: DeviceProfile, fars: Sequence[DeviceProfile], beside: Sequence[DeviceProfile]
) -> tuple[list[DeviceProfile], list[DeviceProfile]]:
    """Return the memories with distinct names: a second ``dram`` becomes ``dram-2``.

    Two measurements of one kind of memory have one name, and near may be compared with itself.
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

    They are the docstrings of the modules that compute, so the page cannot say otherwise.
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


def ladder(problem: Problem, budgets_bytes: list[int]) -> list[Stop]:
    """Return the greedy plan of each budget, as `nearfar place` computes it."""
    greedy = OPTIMISERS.get("greedy")()
    shares = np.stack([greedy.choose(problem, budget).near_shares for budget in budgets_bytes])
    plans = evaluate(problem, problem.in_first_far(shares))
    return [
        Stop(
            budget_bytes=budget,
            near=np.flatnonzero(row).tolist(),
            near_bytes=plan.near_bytes,
            time_ns=plan.time_ns,
            slowdown=plan.slowdown,
            cost_relative=plan.cost_relative,
        )
        for budget, row, plan in zip(budgets_bytes, shares, plans, strict=True)
    ]
