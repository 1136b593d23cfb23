"""Walks a trace once for all lints, and groups their findings by place of the program."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from nearfar.crash.analysis.durability import FlushedBytes, NamedBytes, undurable_lines
from nearfar.crash.analysis.leaks import LostObjects
from nearfar.crash.analysis.origins import StackOrigins, is_copy, is_from_program
from nearfar.crash.analysis.pool_images import PoolImages
from nearfar.crash.analysis.pool_state import PoolState
from nearfar.crash.analysis.transactions import Transactions
from nearfar.crash.lints._registry import LINTS, Cost, Lint, LintContext, LintFinding, lints
from nearfar.crash.memory import PoolMemory
from nearfar.crash.symbols import TraceSymbols, user_frame
from nearfar.crash.trace import CrashTrace
from nearfar.crash.warnings import unexplained_content
from nearfar.documents.crash_report import CrashLint

_MAX_SUSPECTED = 30_000
"""Maximum number of events that are read to find suspects, which takes a second or less."""
_MAX_SUSPECTS = 64


def lints_of(
    trace: CrashTrace,
    symbols: TraceSymbols,
    images: PoolImages | None = None,
    *,
    eadr: bool = False,
    ended: bool = True,
    pool: Path | None = None,
) -> tuple[list[CrashLint], str]:
    """Return one lint for each kind and place, most frequent first, and a warning or "".

    Parameters
    ----------
    trace
        The recorded run.
    symbols
        Names of its return addresses.
    images
        Writes and examines images of the pool; None: lints see the trace only.
    eadr
        The caches survive a power cut, so flushes do not matter.
    ended
        The program ran to its end, so live objects that no handle leads to are lost.
    pool
        The pool as the run left it; the warning is about content that the trace does not explain.

    """
    state, origins = PoolState(trace), StackOrigins(symbols)
    if images is not None:
        state.add_existing(images.before())
    context = LintContext(
        trace=trace,
        state=state,
        origins=origins,
        memory=PoolMemory(trace.pool_bytes),
        images=images,
        lost=None if images is None else LostObjects(trace, images, state, origins),
        ended=ended,
    )
    findings = list(_findings(context, eadr=eadr))
    warning = unexplained_content(state, pool) if pool is not None and not trace.full else ""
    return _grouped(findings, symbols), warning


def suspects_of(trace: CrashTrace, symbols: TraceSymbols, *, eadr: bool) -> list[tuple[int, ...]]:
    """Return the stacks of stores that lints suspect as causes of bugs, from the trace alone.

    Only the first events of a long trace are read, because the exploration waits for the result.
    """
    stacks: dict[tuple[int, ...], None] = {}
    events = list(itertools.islice(trace.events, _MAX_SUSPECTED))
    if any(Path(module.path).name.startswith("libpmemobj") for module in trace.modules):
        # Names show which stores are libpmemobj's own; looking up all at once is faster.
        symbols.learn(list({event.stack for event in events if event.stack}))
    begin = dataclasses.replace(trace, events=events)
    for finding in _findings(_context(begin, symbols), eadr=eadr, causes_only=True):
        if len(stacks) < _MAX_SUSPECTS and is_from_program(symbols.frames(finding.stack)):
            stacks[finding.stack] = None
    return list(stacks)


def _context(trace: CrashTrace, symbols: TraceSymbols) -> LintContext:
    """Return the context of lints that see the trace only, without images of the pool."""
    return LintContext(
        trace=trace,
        state=PoolState(trace),
        origins=StackOrigins(symbols),
        memory=PoolMemory(trace.pool_bytes),
        images=None,
        lost=None,
        ended=True,
    )


def _findings(
    context: LintContext, *, eadr: bool, causes_only: bool = False
) -> Iterator[LintFinding]:
    """Walk the trace; `causes_only`: only with lints that may explain a bug."""
    state, memory = context.state, context.memory
    chosen = [lint for lint in lints() if lint.with_eadr or not eadr]
    checked = [lint(context) for lint in chosen if lint.explains or not causes_only]
    checked.sort(key=lambda lint: get_args(Cost).index(lint.cost))
    feeding = [lint for lint in checked if type(lint).feed is not Lint.feed]
    flushed, transactions = FlushedBytes(), Transactions(state, context.origins)
    named = NamedBytes()

    def judged(facts: Iterator[object]) -> Iterator[LintFinding]:
        for fact in facts:
            for lint in checked:
                if (finding := lint.examine(fact)) is not None:
                    yield finding

    for event in context.trace.events:
        state.feed(event)
        if not eadr:
            memory.feed(event)
            named.feed(event, state)
            yield from judged(flushed.feed(event, state))
        yield from judged(transactions.feed(event))
        for lint in feeding:
            yield from lint.feed(event)
    if not eadr:
        yield from judged(undurable_lines(memory))
        yield from judged(named.uncovered(memory))
    yield from judged(transactions.finish())
    for lint in checked:
        for finding in lint.finish():
            context.reported.add(finding.kind)
            yield finding


def _grouped(findings: list[LintFinding], symbols: TraceSymbols) -> list[CrashLint]:
    """Group findings by kind and the program's line; drop those of libpmemobj itself."""
    symbols.learn([finding.stack for finding in findings])
    groups: dict[object, CrashLint] = {}
    for finding in findings:
        about_flush = LINTS.get(finding.kind).about_flush
        frames = symbols.frames(finding.stack) if finding.stack else []
        if frames and not is_from_program(frames, flush=about_flush):
            continue  # libpmemobj's own store, which libpmemobj recovers
        if about_flush and is_copy(frames):
            continue  # a copy flushes the copied bytes, changed or not
        user = user_frame(frames)
        key = (finding.kind, user and (user.function, user.file, user.line))
        if key not in groups:
            groups[key] = CrashLint(
                kind=finding.kind,
                times=0,
                offset=finding.offset,
                frames=frames,
                note=finding.note,
                object=finding.object,
            )
        groups[key].times += 1
    return sorted(groups.values(), key=lambda lint: -lint.times)
