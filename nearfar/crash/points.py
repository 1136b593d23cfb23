"""Walks a trace from failure point to failure point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nearfar.crash.layout import Kind
from nearfar.crash.memory import Memory
from nearfar.crash.trace import Trace


@dataclass(frozen=True, slots=True)
class Point:
    """A moment at which power may go; `Memory` holds what is then durable or may be."""

    number: int
    at: Literal["fence", "operation", "end", "store"]
    stack: tuple[int, ...]


def walk(trace: Trace, memory: Memory, *, eadr: bool) -> Iterator[Point]:
    """Yield every point, with `memory` as it is there.

    With caches that survive (`eadr`) what is stored is durable, in the order of the program: each
    store is a point, and a state is what memory holds after it.
    """
    number = 0
    for event in trace.events:
        if event.kind is Kind.FENCE and not eadr:
            yield Point(number, "fence", event.stack)
            number += 1
        memory.feed(event)
        if event.kind is Kind.END:
            yield Point(number, "operation", ())
            number += 1
        elif event.kind is Kind.STORE and eadr:
            yield Point(number, "store", event.stack)
            number += 1
    yield Point(number, "end", ())
