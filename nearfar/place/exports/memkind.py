"""A C header with the memkind kind of each allocation site.

At a site, `malloc(n)` becomes `memkind_malloc(NEARFAR_KIND_<object>, n)`; `memkind_free(NULL, p)`
frees memory of any kind. Far memory that is a NUMA node (CXL, KMEM DAX) is MEMKIND_DAX_KMEM, whose
node is set in the environment; a file system is a kind made at start.
"""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import Plan
from nearfar.documents.plan import PlanMemory
from nearfar.place.exports import (
    EXPORTS,
    checked,
    commented,
    identifier,
    node_of,
    template_text,
    variable,
)

TEXT = template_text("memkind")


@EXPORTS.register("memkind")
def export(plan: Plan) -> str:
    """Return the header. An object in several memories gets the kind of most of its bytes."""
    checked(plan)
    kinds, creations, nodes = [], [], []
    names: dict[str, str] = {}
    for memory in plan.memories:
        name = f"nearfar_{variable(memory).removesuffix('_NODE').lower()}_kind"
        path = _path(memory)
        if memory is plan.memories[0]:
            names[memory.name] = "MEMKIND_DEFAULT"
        elif path is not None:
            names[memory.name] = name
            kinds.append(f"static memkind_t {name}; /* {commented(memory.device)} */")
            # 0: as large as the file system.
            size = memory.capacity_bytes or 0
            creations.append(
                TEXT["create_kind"].format(path=_quoted(path), bytes=f"{size}UL", variable=name)
            )
        else:
            names[memory.name] = "MEMKIND_DAX_KMEM"
            nodes.append(node_of(memory) or f"<node of {memory.device}>")
    environment = (
        f" * The environment names far memory's nodes: MEMKIND_DAX_KMEM_NODES={','.join(nodes)}"
        if nodes
        else " * No environment variable is needed."
    )
    if len(nodes) > 1:
        environment += "; memkind uses the nearest of them and cannot distinguish them"
    rows = [
        f"#define NEARFAR_KIND_{identifier(row.name, row.object)} {names[row.memory]} "
        f"/* {commented(row.name)}, {format_bytes(row.size_bytes)} */"
        for row in plan.placements
        if row.kind in ("heap", "mmap")
    ]
    head = TEXT["head"].format(
        environment=commented(environment),
        kinds="\n".join(kinds) or "/* No kind is made: all are memkind's. */",
        creations="".join(creations),
    )
    return head + "\n".join([*rows, "", "#endif", ""])


def _path(memory: PlanMemory) -> str | None:
    """Return the folder where a memory is mounted; None if the memory is a node."""
    if memory.spec.startswith("file:"):
        return memory.spec.removeprefix("file:")
    return memory.spec if memory.spec.startswith("/") else None


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
