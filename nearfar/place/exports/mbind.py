"""C that binds each object's pages with mbind(2): to be called where the object is allocated.

It needs no library: one file with one function for each object, and a name for each node.
"""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import Plan
from nearfar.documents.plan import Placement, PlanMemory
from nearfar.place.exports import EXPORTS, checked, commented, identifier, node_of, variable

HEAD = """\
/* Where a plan of nearfar puts each object: bind its pages after it was allocated.
 *
 * Call nearfar_<object>(start, bytes) once for each allocation, before it is first touched: pages
 * are placed when they are. Nodes are macros: -D{example}=1 overrides one. Each function returns 0,
 * or -1 with errno; whole pages inside the allocation are bound, the rest stays where it is. */
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
  NEARFAR_WEIGHTED_INTERLEAVE = 6, /* Linux 6.9; weights are the system's, in sysfs */
  NEARFAR_MOST_NODES = 1024,
  NEARFAR_WORD_BITS = 8 * sizeof(unsigned long),
}};

static long nearfar_mbind(uintptr_t start, uintptr_t end, int mode, const int *nodes, int count) {{
  unsigned long mask[NEARFAR_MOST_NODES / NEARFAR_WORD_BITS] = {{0}};
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  start = (start + page - 1) / page * page;
  end = end / page * page;
  if (start >= end) return 0;
  for (int i = 0; i < count; i++) {{
    if (nodes[i] < 0 || nodes[i] >= NEARFAR_MOST_NODES) {{
      errno = EINVAL;
      return -1;
    }}
    mask[nodes[i] / NEARFAR_WORD_BITS] |= 1UL << (nodes[i] % NEARFAR_WORD_BITS);
  }}
  return syscall(SYS_mbind, start, end - start, mode, mask, (unsigned long)NEARFAR_MOST_NODES, 0U);
}}
"""

PLAIN = """
/* {said} */
static inline long nearfar_{name}(void *start, size_t bytes) {{
  const int node = {node};
  return nearfar_mbind((uintptr_t)start, (uintptr_t)start + bytes, NEARFAR_BIND, &node, 1);
}}
"""

SPLIT = """
/* {said} */
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

DEALT = """
/* {said}; weights {weights} in /sys/kernel/mm/mempolicy/weighted_interleave */
static inline long nearfar_{name}(void *start, size_t bytes) {{
  const int nodes[] = {{{nodes}}};
  const uintptr_t from = (uintptr_t)start, to = from + bytes;
  if (nearfar_mbind(from, to, NEARFAR_WEIGHTED_INTERLEAVE, nodes, {count}) == 0) return 0;
  return errno == EINVAL ? nearfar_mbind(from, to, NEARFAR_INTERLEAVE, nodes, {count}) : -1;
}}
"""


@EXPORTS.register("mbind")
def export(plan: Plan) -> str:
    """Return the C source. Stack, globals and what no site tells apart are left out, and said."""
    checked(plan)
    memories = {memory.name: memory for memory in plan.memories}
    placed = [row for row in plan.placements if row.kind in ("heap", "mmap", "file")]
    head = HEAD.format(
        nodes="\n".join(_node(memory) for memory in plan.memories),
        example=variable(plan.memories[-1]),
    )
    left_out = [row.name for row in plan.placements if row not in placed]
    tail = (
        ["", f"/* Not here, as they are not allocated: {commented(', '.join(left_out))} */"]
        if left_out
        else []
    )
    return head + "".join(_function(row, memories) for row in placed) + "\n".join([*tail, ""])


def _node(memory: PlanMemory) -> str:
    node, name = node_of(memory), variable(memory)
    if node is None:
        what = commented(f"define {name}: the NUMA node of {memory.device}").replace('"', "'")
        return f'#ifndef {name}\n#error "{what}, such as -D{name}=1"\n#endif'
    return f"#ifndef {name}\n#define {name} {node} /* {commented(memory.device)} */\n#endif"


def _function(row: Placement, memories: dict[str, PlanMemory]) -> str:
    name = identifier(row.name, row.object)
    stack = " < ".join(
        f"{frame.function} {frame.file}:{frame.line}" for frame in row.frames[: max(1, row.told_by)]
    )
    said = commented(f"{row.name}, {format_bytes(row.size_bytes)} in {row.memory}: {stack}")
    if row.interleave:
        return DEALT.format(
            said=said,
            name=name,
            nodes=", ".join(variable(memories[one]) for one in row.interleave),
            count=len(row.interleave),
            weights=", ".join(f"{one} {weight}" for one, weight in row.interleave.items()),
        )
    if row.parts:
        pieces, done = [], 0.0
        for at, part in enumerate(row.parts):
            done += part.share
            last = at == len(row.parts) - 1
            pieces.append(
                PIECE.format(
                    share=part.share,
                    node=variable(memories[part.memory]),
                    to="end"
                    if last
                    else f"(uintptr_t)start + (uintptr_t)((double)bytes * {done!r})",
                )
            )
        return SPLIT.format(said=said, name=name, pieces="\n".join(pieces))
    return PLAIN.format(said=said, name=name, node=variable(memories[row.memory]))
