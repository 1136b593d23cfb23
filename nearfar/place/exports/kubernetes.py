"""A Kubernetes pod with the memory that a plan needs, and the same for a cgroup by hand.

Kubernetes has no notion of far memory: it grants bytes and, with the Static memory manager, nodes.
So the pod requests all of the plan's bytes with an equal limit, has each memory's share as an
annotation for schedulers that read it, and starts its program by `nearfar run` with the plan from a
ConfigMap.
"""

from __future__ import annotations

import json

import msgspec

from nearfar.documents import Plan
from nearfar.documents.header import to_json
from nearfar.place.exports import EXPORTS, checked, node_of, template_text

MIB = 1 << 20

MAX_CONFIG_BYTES = 1_000_000
"""Largest plan in a ConfigMap, which holds 1 MiB."""

HEADROOM = 1.1
"""Memory granted per byte of objects: the allocator, stacks and code need the rest, and a pod above
its limit is killed."""

TEXT = template_text("kubernetes")


@EXPORTS.register("kubernetes")
def export(plan: Plan) -> str:
    """Return YAML to apply after setting the image and the command."""
    checked(plan)
    placed = sum(memory.used_bytes for memory in plan.memories)
    mebibytes = -(-int(placed * HEADROOM) // MIB)
    nodes = [node for memory in plan.memories if (node := node_of(memory)) is not None]
    notes = {f"nearfar.dev/{memory.name}-bytes": str(memory.used_bytes) for memory in plan.memories}
    notes |= {f"nearfar.dev/{m.name}-memory": m.spec for m in plan.memories if m.spec}
    annotations = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in notes.items()]
    # A run needs neither the frontier of all budgets nor its own cost.
    needed = msgspec.structs.replace(plan, frontier=[], run_cost=None)
    document = to_json(needed).decode().rstrip("\n")
    fits = len(document) < MAX_CONFIG_BYTES
    indented = "\n".join(f"    {line}" for line in document.split("\n"))
    by_hand = [
        "# The same for a cgroup (version 2) by hand:",
        f"#   echo {mebibytes * MIB} > memory.max",
        *([f"#   echo {','.join(nodes)} > cpuset.mems"] if nodes else []),
    ]
    pod = TEXT["pod"].format(
        config=TEXT["config"].format(document=indented) if fits else TEXT["no_config"],
        annotations="\n".join(annotations),
        mebibytes=mebibytes,
        volume=TEXT["volume"] if fits else "",
    )
    return "\n".join([*by_hand, pod])
