"""C functions, one per object, that bind its pages with mbind(2) where it is allocated.

The file needs no library. Each node is a macro.
"""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import Plan
from nearfar.documents.plan import Placement, PlanMemory
from nearfar.place.exports import (
    EXPORTS,
    checked,
    commented,
    identifier,
    node_of,
    template_text,
    variable,
)

TEXT = template_text("mbind")


@EXPORTS.register("mbind")
def export(plan: Plan) -> str:
    """Return the C source. A comment lists the objects without an allocation: stack, globals."""
    checked(plan)
    memories = {memory.name: memory for memory in plan.memories}
    allocated = [row for row in plan.placements if row.kind in ("heap", "mmap", "file")]
    head = TEXT["head"].format(
        nodes="\n".join(_node(memory) for memory in plan.memories),
        example=variable(plan.memories[-1]),
    )
    left_out = [row.name for row in plan.placements if row not in allocated]
    tail = (
        ["", f"/* Not allocated, so without a function: {commented(', '.join(left_out))} */"]
        if left_out
        else []
    )
    return head + "".join(_function(row, memories) for row in allocated) + "\n".join([*tail, ""])


def _node(memory: PlanMemory) -> str:
    node, name = node_of(memory), variable(memory)
    if node is None:
        error = commented(f"define {name}: the NUMA node of {memory.device}").replace('"', "'")
        return f'#ifndef {name}\n#error "{error}, such as -D{name}=1"\n#endif'
    return f"#ifndef {name}\n#define {name} {node} /* {commented(memory.device)} */\n#endif"


def _function(row: Placement, memories: dict[str, PlanMemory]) -> str:
    name = identifier(row.name, row.object)
    stack = " < ".join(
        f"{frame.function} {frame.file}:{frame.line}" for frame in row.frames[: max(1, row.told_by)]
    )
    description = commented(f"{row.name}, {format_bytes(row.size_bytes)} in {row.memory}: {stack}")
    if row.interleave:
        return TEXT["interleaved"].format(
            description=description,
            name=name,
            nodes=", ".join(variable(memories[memory]) for memory in row.interleave),
            count=len(row.interleave),
            weights=", ".join(f"{memory} {weight}" for memory, weight in row.interleave.items()),
        )
    if row.parts and row.parts[-1].end_bytes:
        ranges = [
            f"    {{{part.end_bytes}ul, {variable(memories[part.memory])}}}," for part in row.parts
        ]
        return TEXT["in_ranges"].format(
            description=description, name=name, ranges="\n".join(ranges)
        )
    if row.parts:
        pieces, end_share = [], 0.0
        for at, part in enumerate(row.parts):
            end_share += part.share
            last = at == len(row.parts) - 1
            pieces.append(
                TEXT["piece"].format(
                    share=part.share,
                    node=variable(memories[part.memory]),
                    to="end"
                    if last
                    else f"(uintptr_t)start + (uintptr_t)((double)bytes * {end_share!r})",
                )
            )
        return TEXT["in_parts"].format(description=description, name=name, pieces="\n".join(pieces))
    return TEXT["whole"].format(
        description=description, name=name, node=variable(memories[row.memory])
    )
