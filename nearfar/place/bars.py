"""The other ways to place the data, shown beside every plan."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from nearfar.base.statistics import Estimate
from nearfar.documents.plan import Alternative, BarName
from nearfar.place.evaluate import Evaluation, evaluate
from nearfar.place.optimiser import OPTIMISERS, Choice
from nearfar.place.problem import Problem
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS, ModelLacksError
from nearfar.predict.total import sum_estimates

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
"""The optimisers whose times every plan shows."""

CACHE_MODEL = "memory-mode"


def bars(problem: Problem, choices: dict[str, Choice]) -> list[Alternative]:
    """Return what the optimisers' choices cost."""
    found = evaluate(problem, np.stack([choice.shares for choice in choices.values()]))
    return [
        bar(problem, OPTIMISERS.get(name).bar, one)
        for name, one in zip(choices, found, strict=True)
    ]


def bar(problem: Problem, name: BarName, found: Evaluation) -> Alternative:
    """Return one placement's bar."""
    return Alternative(
        name=name,
        near_bytes=found.near_bytes,
        time_ns=found.time_ns,
        slowdown=found.slowdown,
        cost_relative=found.cost_relative,
        bytes_by_memory=dict(zip(problem.memory_names, found.bytes_by_memory, strict=True)),
    )


def memory_mode(problem: Problem, budget_bytes: int) -> tuple[Alternative | None, list[str]]:
    """Return near memory as a cache of the budget's size before the first far one.

    None, with the reason in a sentence, where the profile lacks what its model needs. A budget of 0
    is no cache.
    """
    if budget_bytes <= 0 or not problem.names:
        return None, []
    device = msgspec.structs.replace(problem.near.device, capacity_bytes=budget_bytes)
    near = replace(problem.near, device=device)
    kind = MODELS.get(CACHE_MODEL)
    try:
        models = [kind(phase, near, problem.far) for phase in problem.phases]
    except ModelLacksError as lack:
        return None, [f"Memory Mode is not shown: {lack}"]
    found = [far_estimate(kind, one.phase, near, problem.far, one) for one in models]
    near_ns = problem.near_time_ns.value
    time = sum_estimates([one.far_time_ns for one in found])
    weights = [
        phase.near_time_ns.value / near_ns if near_ns > 0 else 0.0 for phase in problem.phases
    ]
    slowdown = Estimate(
        *(
            sum(w * end for w, end in zip(weights, ends, strict=True))
            for ends in zip(
                *((s.value, s.low, s.high) for s in (one.slowdown for one in found)), strict=True
            )
        )
    )
    used = np.zeros(len(problem.fars) + 1)
    # The cache comes on top: all data lies in far memory.
    used[0], used[1] = budget_bytes, problem.footprint_bytes
    return (
        Alternative(
            name="memory-mode",
            near_bytes=budget_bytes,
            time_ns=time,
            slowdown=slowdown if near_ns > 0 else Estimate(1.0, 1.0, 1.0),
            cost_relative=float(problem.price_relative(used)),
            bytes_by_memory=dict(zip(problem.memory_names, used.astype(int).tolist(), strict=True)),
        ),
        [],
    )
