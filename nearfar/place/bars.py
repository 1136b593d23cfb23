"""Bars: the other ways to place the data, shown with every plan."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.documents.plan import Alternative, BarName
from nearfar.place.evaluation import Evaluation, evaluate, weighted
from nearfar.place.optimiser import OPTIMISERS, PlacementChoice
from nearfar.place.problem import Problem
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS, ModelLacksError

BARS = (
    "all-near",
    "all-far",
    "page-interleaved",
    "bandwidth-interleaved",
    "hot-first",
    "x-mem",
    "greedy",
    "exact",
)
"""Optimisers whose choices every plan shows."""

CACHE_MODEL = "memory-mode"


def optimiser_bars(problem: Problem, choices: dict[str, PlacementChoice]) -> list[Alternative]:
    """Return the bars of the optimisers' choices."""
    evaluations = evaluate(problem, np.stack([choice.shares for choice in choices.values()]))
    return [
        bar(problem, OPTIMISERS.get(name).bar, evaluation)
        for name, evaluation in zip(choices, evaluations, strict=True)
    ]


def bar(problem: Problem, name: BarName, evaluation: Evaluation) -> Alternative:
    """Return one placement's bar."""
    return Alternative(
        name=name,
        near_bytes=evaluation.near_bytes,
        time_ns=evaluation.time_ns,
        slowdown=evaluation.slowdown,
        cost_relative=evaluation.cost_relative,
        bytes_by_memory=dict(zip(problem.memory_names, evaluation.bytes_by_memory, strict=True)),
    )


def memory_mode_bar(problem: Problem, budget_bytes: int) -> tuple[Alternative | None, list[str]]:
    """Return the bar of near memory as a cache of the budget's size before the first far memory.

    None, with the reason in a sentence, where the profile does not have what the model needs. A
    budget of 0 is no cache.
    """
    if budget_bytes <= 0 or not problem.names:
        return None, []
    device = msgspec.structs.replace(problem.near.device, capacity_bytes=budget_bytes)
    near = replace(problem.near, device=device)
    kind = MODELS.get(CACHE_MODEL)
    try:
        models = [kind(phase, near, problem.far) for phase in problem.phases]
    except ModelLacksError as error:
        return None, [f"Memory Mode is not shown: {error}"]
    outcomes = [far_estimate(kind, model.phase, near, problem.far, model) for model in models]
    slowdown = weighted(problem.phase_weights, [phase.slowdown for phase in outcomes])
    used = np.zeros(len(problem.fars) + 1)
    # The cache comes on top: all data is in far memory.
    used[0], used[1] = budget_bytes, problem.footprint_bytes
    evaluation = Evaluation(
        time_ns=sum_estimates([phase.far_time_ns for phase in outcomes]),
        slowdown=slowdown if problem.near_time_ns.value > 0 else Estimate(1.0, 1.0, 1.0),
        bytes_by_memory=used.astype(int).tolist(),
        cost_relative=float(problem.price_relative(used)),
    )
    return bar(problem, "memory-mode", evaluation), []
