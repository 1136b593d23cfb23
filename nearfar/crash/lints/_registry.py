"""The base class of lints and their registry."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from nearfar.base.registry import Registry
from nearfar.crash.analysis.leaks import LostObjects
from nearfar.crash.analysis.origins import StackOrigins
from nearfar.crash.analysis.pool_images import PoolImages
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.memory import PoolMemory
from nearfar.crash.trace import CrashTrace, TraceEvent
from nearfar.documents.crash_report import CrashObject

Severity = Literal["warning", "note"]
"""Severity: a warning concerns data that may be lost; a note concerns only lost time."""
Cost = Literal["trace", "final image", "crash images", "recovery"]
"""Work of `Lint.finish`, cheapest first: images share a limited time."""


@dataclass(frozen=True)
class LintFinding:
    """A mistake of one kind, at one offset in the pool, made by one stack of the program."""

    kind: str
    offset: int
    stack: tuple[int, ...]
    note: str = ""
    """Details of the mistake, in words."""
    object: CrashObject | None = None


@dataclass
class LintContext:
    """Input of lints: the trace and what was derived from it."""

    trace: CrashTrace
    state: PoolState
    """The pool after the events processed so far."""
    origins: StackOrigins
    memory: PoolMemory
    """Durable and pending lines after the events processed so far; unused if caches survive."""
    images: PoolImages | None
    """None: lints see the trace only."""
    lost: LostObjects | None
    ended: bool
    """Whether the program ran to its end, so that objects to which no handle leads are lost."""
    reported: set[str] = field(default_factory=set)
    """Kinds that `finish` of cheaper lints found."""


class Lint:
    """One kind of mistake; all methods have defaults that find nothing."""

    kind: ClassVar[str]
    """Name in reports."""
    severity: ClassVar[Severity] = "warning"
    pitfall: ClassVar[str] = ""
    """Program in examples/pitfalls that makes this mistake; empty: none does."""
    explains: ClassVar[int] = 0
    """Rank as the cause of a wrong image, 1 is first; 0: it is not a cause."""
    about_flush: ClassVar[bool] = False
    """Whether its stacks are those of flushes."""
    with_eadr: ClassVar[bool] = True
    """Whether it is also a mistake if the caches survive the power cut."""
    cost: ClassVar[Cost] = "trace"

    def __init__(self, context: LintContext) -> None:
        self.context = context

    def feed(self, event: TraceEvent) -> Iterator[LintFinding]:
        """Process one event of the trace, which `context` already includes."""
        yield from ()

    def examine(self, fact: object) -> LintFinding | None:
        """Judge one fact that an analysis of the trace found."""
        return None

    def finish(self) -> Iterator[LintFinding]:
        """Yield findings that need the whole trace."""
        yield from ()

    def finding(self, offset: int, stack: tuple[int, ...], note: str = "") -> LintFinding:
        """Return a finding of this kind about the object that holds `offset`."""
        described = self.context.state.objects.describe(offset)
        return LintFinding(self.kind, offset, stack, note, described)


LINTS: Registry[type[Lint]] = Registry("nearfar.crash.lints", "lint")


def register(lint: type[Lint]) -> type[Lint]:
    """Add a lint to the registry by its `kind`."""
    return LINTS.register(lint.kind)(lint)


def lints() -> list[type[Lint]]:
    """Return all lints by name."""
    return [LINTS.get(kind) for kind in LINTS.names()]


def meaning(lint: type[Lint]) -> str:
    """Return what a lint means: the first sentence of its docstring."""
    return _paragraphs(lint)[0]


def reported_when(lint: type[Lint]) -> str:
    """Return when a lint is reported: the rest of its docstring."""
    return " ".join(_paragraphs(lint)[1:])


def _paragraphs(lint: type[Lint]) -> list[str]:
    text = inspect.getdoc(lint) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
