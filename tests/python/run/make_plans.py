"""Writes the plans of programs/far_node.sh, for a machine with far memory: make_plans.py DIR."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import objects_plan

from nearfar.documents import Plan, save
from nearfar.documents.plan import Move, PhasePlacements

NAMES = ("make_array", "make_list", "make_growing", "make_mapping", "make_cleared")


def plans() -> dict[str, Plan]:
    """Return every plan by the name of its file."""
    mixed = dict(zip(NAMES, ("far", "far", "near", "far", "near"), strict=True))
    move = Move(object=0, source="near", memory="far", bytes=8 << 20, cost_ns=0)
    return {
        "near": objects_plan(dict.fromkeys(NAMES, "near")),
        "far": objects_plan(mixed),
        "parts": objects_plan(
            mixed,
            parts={"make_array": [("near", 0.25), ("far", 0.75)]},
            interleave={"make_list": {"near": 3, "far": 1}},
        ),
        "phases": objects_plan(
            {"make_array": "near", "make_list": "far"},
            phases=[PhasePlacements(phase="work", moves=[move])],
        ),
    }


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, plan in plans().items():
        save(plan, folder / f"{name}.json")


if __name__ == "__main__":
    main()
