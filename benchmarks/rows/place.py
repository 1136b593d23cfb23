"""How long the exact choice for one budget takes."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import Row, make_row, wall_seconds
from nearfar.devices.library import load_device
from nearfar.documents import Plan
from nearfar.place.api import place

OBJECTS = 10_000
BUDGETS = ("1%", "10%", "25%", "50%", "90%")
"""Small budgets are the hard ones: few objects fit, and many are alike."""

PROVEN_GAP = 1e-6
"""A millionth of the saved time: what is called exact."""


def rows() -> list[Row]:
    """Make a whole plan (bars, frontier, exact choice) at each budget; the slowest counts."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python"))
    import samples

    workload, near = samples.workload(objects=OBJECTS), samples.device()
    far = load_device("optane-100-6dimm")
    plans: list[Plan] = []
    seconds = [
        wall_seconds(lambda budget=budget: plans.append(place(workload, near, far, budget)))
        for budget in BUDGETS
    ]
    gap = max(1.0 if plan.proven_gap is None else plan.proven_gap for plan in plans)
    command = "ONLY=place python -m benchmarks"
    return [
        make_row(
            f"exact plan for one budget, slowest of {', '.join(BUDGETS)}: {OBJECTS} objects",
            max(seconds),
            "s",
            bar=5.0,
            peer="none: the limit is the issue's",
            command=command,
        ),
        make_row(
            "proven gap of those plans",
            gap,
            "of the saved time",
            bar=PROVEN_GAP,
            peer="0: optimal",
            command=command,
        ),
    ]
