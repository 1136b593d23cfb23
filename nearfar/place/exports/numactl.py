"""A shell script that starts a program under numactl: one policy for the whole process.

numactl knows no objects. The script interleaves pages over the plan's memories in the ratio of
the budget, and states the predicted slowdown of this and of the plan.
"""

from __future__ import annotations

from fractions import Fraction

from nearfar.documents import Plan
from nearfar.documents.plan import PlanMemory
from nearfar.place.exports import EXPORTS, checked, node_of, variable

MAX_WEIGHT = 64
"""Largest sum of weights: near memory's share to 1 %, and far below the kernel's limit of 255."""


@EXPORTS.register("numactl")
def export(plan: Plan) -> str:
    """Return the script; nodes without a spec come from the environment."""
    checked(plan)
    weights = _weights(plan)
    used = [(memory, weight) for memory, weight in weights if weight]
    lines = [
        "#!/bin/sh",
        "# Runs a program with its pages interleaved in the ratio of a nearfar plan.",
        "# Usage: sh this-file PROGRAM ARGS...",
        *(f"# {sentence}" for sentence in _slowdowns(plan)),
        "set -eu",
        '[ $# -gt 0 ] || { echo "usage: $0 PROGRAM ARGS..." >&2; exit 2; }',
        "command -v numactl >/dev/null || { echo 'numactl is not installed' >&2; exit 3; }",
        *(_node(memory) for memory, _ in used),
    ]
    nodes = ",".join(f"${variable(memory)}" for memory, _ in used)
    if len(used) == 1:
        return "\n".join([*lines, f'exec numactl --membind="{nodes}" -- "$@"', ""])
    lines += [
        "weights=/sys/kernel/mm/mempolicy/weighted_interleave",
        "if [ -d $weights ]; then  # Linux 6.9 or later; setting weights needs root",
        *(
            f'  [ "$(cat "$weights/node${variable(memory)}")" = {weight} ] || '
            f'echo {weight} >"$weights/node${variable(memory)}"'
            for memory, weight in used
        ),
        f'  exec numactl --weighted-interleave="{nodes}" -- "$@"',
        "fi",
        "echo 'this kernel has no weighted interleave (Linux 6.9): interleaving evenly' >&2",
        f'exec numactl --interleave="{nodes}" -- "$@"',
        "",
    ]
    return "\n".join(lines)


def _weights(plan: Plan) -> list[tuple[PlanMemory, int]]:
    """Return weights: near memory by its budget, far memories by their bytes in the plan."""
    footprint = plan.footprint_bytes
    near, *fars = plan.memories
    if not footprint or plan.budget_bytes >= footprint:
        return [(near, 1), *((far, 0) for far in fars)]
    share = Fraction(plan.budget_bytes, footprint)
    in_far = sum(far.used_bytes for far in fars)
    parts = [share] + [
        (1 - share) * (Fraction(far.used_bytes, in_far) if in_far else Fraction(1, len(fars)))
        for far in fars
    ]
    weights = [round(float(part) * MAX_WEIGHT) for part in parts]
    smallest = min((weight for weight in weights if weight), default=1)
    if all(weight % smallest == 0 for weight in weights):
        weights = [weight // smallest for weight in weights]
    return list(zip(plan.memories, weights, strict=True))


def _slowdowns(plan: Plan) -> list[str]:
    slowdowns = {bar.name: bar.slowdown.value for bar in plan.alternatives}
    best = min(slowdowns.get(name, float("inf")) for name in ("plan", "optimal", "greedy"))
    if "page-interleaved" not in slowdowns:
        return []
    return [
        f"Predicted slowdown against all near: {slowdowns['page-interleaved']:.2f} with this "
        f"script, {best:.2f} with the plan's placement of objects (nearfar run, --export mbind)."
    ]


def _node(memory: PlanMemory) -> str:
    node, name = node_of(memory), variable(memory)
    if node is not None:
        return f"{name}=${{{name}:-{node}}}  # {memory.device}"
    return f': "${{{name}:?set {name} to the NUMA node of {memory.device}}}"'
