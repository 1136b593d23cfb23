"""A Kubernetes pod with the memory that a plan needs, and the same for a cgroup by hand.

Kubernetes knows no far memory: it grants bytes and, with the Static memory manager, nodes. So the
pod asks for all of the plan's bytes with equal request and limit, carries each memory's share as an
annotation for schedulers that read them, and the program in it is started by `nearfar run` with the
plan from a ConfigMap.
"""

from __future__ import annotations

import json

import msgspec

from nearfar.documents import Plan
from nearfar.documents.header import to_json
from nearfar.place.exports import EXPORTS, checked, node_of

MIB = 1 << 20

MOST_CONFIG_BYTES = 1_000_000
"""A ConfigMap holds 1 MiB."""

HEADROOM = 1.1
"""Over the objects' bytes: the allocator's own, stacks, code. A pod over its limit is killed."""


@EXPORTS.register("kubernetes")
def export(plan: Plan) -> str:
    """Return YAML to be applied; the image is the reader's own."""
    checked(plan)
    placed = sum(memory.used_bytes for memory in plan.memories)
    wanted = -(-int(placed * HEADROOM) // MIB)
    nodes = [node_of(memory) for memory in plan.memories]
    mems = ",".join(node for node in nodes if node is not None)
    notes = {f"nearfar.dev/{memory.name}-bytes": str(memory.used_bytes) for memory in plan.memories}
    for memory in plan.memories:
        if memory.spec:
            notes[f"nearfar.dev/{memory.name}-memory"] = memory.spec
    annotations = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in notes.items()]
    # What a run needs: not the frontier of all budgets.
    document = to_json(msgspec.structs.replace(plan, frontier=[])).decode().rstrip("\n")
    fits = len(document) < MOST_CONFIG_BYTES
    by_hand = [
        "# The same for a cgroup (version 2) by hand:",
        f"#   echo {wanted * MIB} > memory.max",
        *([f"#   echo {mems} > cpuset.mems"] if mems else []),
    ]
    config = [
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata:",
        "  name: nearfar-plan",
        "data:",
        "  plan.json: |",
        *(f"    {line}" for line in document.split("\n")),
        "---",
    ]
    volume = [
        "      volumeMounts:",
        "        - name: plan",
        "          mountPath: /etc/nearfar",
        "  volumes:",
        "    - name: plan",
        "      configMap:",
        "        name: nearfar-plan",
    ]
    without = [
        "# The plan is larger than a ConfigMap: put it into the image as the command names it."
    ]
    return "\n".join(
        [
            *by_hand,
            "# On the node: kubelet --memory-manager-policy=Static, so that memory is granted by",
            "# NUMA node; set `image` and the program's command.",
            *(config if fits else without),
            "apiVersion: v1",
            "kind: Pod",
            "metadata:",
            "  name: placed-by-nearfar",
            "  annotations:",
            *annotations,
            "spec:",
            "  containers:",
            "    - name: program",
            '      image: "your-image"',
            '      command: ["nearfar", "run", "/etc/nearfar/plan.json", "--", "your-program"]',
            "      resources:",
            "        requests:",
            f"          memory: {wanted}Mi",
            '          cpu: "1"',
            "        limits:",
            f"          memory: {wanted}Mi",
            '          cpu: "1"',
            *(volume if fits else []),
            "",
        ]
    )
