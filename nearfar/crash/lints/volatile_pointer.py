"""Addresses of volatile memory in the pool."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.lints._registry import Lint, LintFinding, register
from nearfar.crash.memory import RUN_TIME_BYTES
from nearfar.crash.trace import EventKind, TraceEvent

_MAPPINGS = {"[heap]": "the heap", "[stack]": "the stack", "": "anonymous memory (heap or a stack)"}

_RECORDER = ("libnearfar_", "/nearfar-crash-")


@register
class VolatilePointer(Lint):
    """An address of the heap, a stack or a library, stored in the pool.

    A word stored into the pool is an address in another mapping of the process.
    """

    kind = "volatile pointer"
    pitfall = "list_volatile_pointer"

    def feed(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Take a pointer that the recorder recognised by the list of mappings."""
        if event.kind is not EventKind.POINTER:
            return
        if self.context.state.uuid and event.a < RUN_TIME_BYTES:
            return  # libpmemobj's fields of the running process
        name = event.payload.decode(errors="replace")
        if any(part in name for part in _RECORDER):
            return  # a number that looks like an address of the recorder, which the program lacks
        where = _MAPPINGS.get(name, name.rsplit("/", 1)[-1])
        yield self.finding(event.a, event.stack, f"{event.b:#x} is in {where}")
