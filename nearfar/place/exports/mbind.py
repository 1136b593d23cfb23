"""C functions, one per object, that bind its pages with mbind(2) where it is allocated.

The file needs no library. Each node is a macro.
"""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import Plan
from nearfar.documents.plan import Placement, PlanMemory
from nearfar.place.exports import EXPORTS, checked, commented, identifier, node_of, variable

HEAD = """\
/* Bind the pages of each object as a nearfar plan places it.
 *
 * Call nearfar_<object>(start, bytes) once for each allocation, before its first access, when the
 * kernel places pages. Nodes are macros: -D{example}=1 sets one. Each function returns 0, or -1
 * with errno; it binds the whole pages inside the allocation and leaves the others in place. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

{nodes}

enum {{
  NEARFAR_BIND = 2,                /* MPOL_BIND */
  NEARFAR_INTERLEAVE = 3,          /* MPOL_INTERLEAVE */
  NEARFAR_WEIGHTED_INTERLEAVE = 6, /* Linux 6.9; weights are in sysfs */
  NEARFAR_MAX_NODES = 1024,
  NEARFAR_WORD_BITS = 8 * sizeof(unsigned long),
}};

static long nearfar_mbind(uintptr_t start, uintptr_t end, int mode, const int *nodes, int count) {{
  unsigned long mask[NEARFAR_MAX_NODES / NEARFAR_WORD_BITS] = {{0}};
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  start = (start + page - 1) / page * page;
  end = end / page * page;
  if (start >= end) return 0;
  for (int i = 0; i < count; i++) {{
    if (nodes[i] < 0 || nodes[i] >= NEARFAR_MAX_NODES) {{
      errno = EINVAL;
      return -1;
    }}
    mask[nodes[i] / NEARFAR_WORD_BITS] |= 1UL << (nodes[i] % NEARFAR_WORD_BITS);
  }}
  return syscall(SYS_mbind, start, end - start, mode, mask, (unsigned long)NEARFAR_MAX_NODES, 0U);
}}
"""

WHOLE = """
/* {description} */
static inline long nearfar_{name}(void *start, size_t bytes) {{
  const int node = {node};
  return nearfar_mbind((uintptr_t)start, (uintptr_t)start + bytes, NEARFAR_BIND, &node, 1);
}}
"""

IN_PARTS = """
/* {description} */
static inline long nearfar_{name}(void *start, size_t bytes) {{
  uintptr_t from = (uintptr_t)start, end = from + bytes;
  (void)end;
{pieces}
  return 0;
}}
"""

PIECE = """\
  {{ /* {share:.2%} */
    const int node = {node};
    const uintptr_t to = {to};
    if (nearfar_mbind(from, to, NEARFAR_BIND, &node, 1) != 0) return -1;
    from = to;
  }}"""

INTERLEAVED = """
/* {description}; weights {weights} in /sys/kernel/mm/mempolicy/weighted_interleave */
static inline long nearfar_{name}(void *start, size_t bytes) {{
  const int nodes[] = {{{nodes}}};
  const uintptr_t from = (uintptr_t)start, to = from + bytes;
  if (nearfar_mbind(from, to, NEARFAR_WEIGHTED_INTERLEAVE, nodes, {count}) == 0) return 0;
  return errno == EINVAL ? nearfar_mbind(from, to, NEARFAR_INTERLEAVE, nodes, {count}) : -1;
}}
"""


@EXPORTS.register("mbind")
def export(plan: Plan) -> str:
    """Return the C source. A comment lists the objects without an allocation: stack, globals."""
    checked(plan)
    memories = {memory.name: memory for memory in plan.memories}
    allocated = [row for row in plan.placements if row.kind in ("heap", "mmap", "file")]
    head = HEAD.format(
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
        return INTERLEAVED.format(
            description=description,
            name=name,
            nodes=", ".join(variable(memories[memory]) for memory in row.interleave),
            count=len(row.interleave),
            weights=", ".join(f"{memory} {weight}" for memory, weight in row.interleave.items()),
        )
    if row.parts:
        pieces, end_share = [], 0.0
        for at, part in enumerate(row.parts):
            end_share += part.share
            last = at == len(row.parts) - 1
            pieces.append(
                PIECE.format(
                    share=part.share,
                    node=variable(memories[part.memory]),
                    to="end"
                    if last
                    else f"(uintptr_t)start + (uintptr_t)((double)bytes * {end_share!r})",
                )
            )
        return IN_PARTS.format(description=description, name=name, pieces="\n".join(pieces))
    return WHOLE.format(description=description, name=name, node=variable(memories[row.memory]))
