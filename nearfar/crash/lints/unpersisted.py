"""Recovery that reads what was never persisted."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.crash.lints.finding import Finding
from nearfar.crash.lints.images import Images
from nearfar.crash.memory import Line, Memory
from nearfar.crash.trace import Trace

_MOST_LINES = 32
"""Never persisted, that are asked for one by one."""


def unpersisted(trace: Trace, images: Images, memory: Memory) -> Iterator[Finding]:
    """Compare what the checker says of the pool that the program left, with and without what
    nothing ever persisted: where it is content with both and says different things, it read it.

    `memory` is as the whole trace leaves it. Nothing is told if the checker's words differ from one
    run to the next.
    """
    if not images.fits(trace.pool_bytes):
        return
    lines = memory.candidates()
    whole = {offset: line.contents[-1] for offset, line in lines.items()}
    if not whole:
        return

    def said(content: dict[int, bytes]) -> str | None:
        images.put(memory.durable, content, trace.pool_bytes)
        verdict = images.recover(memory.done, memory.begun)
        return None if verdict.symptom else verdict.said

    told = said(whole)
    if told is None or said(whole) != told:
        return
    for offset, line in _first(lines):
        if images.exhausted():
            return
        without = said({at: content for at, content in whole.items() if at != offset})
        if without is not None and without != told:
            yield Finding(
                "read but never persisted", offset, line.stacks[-1], _difference(told, without)
            )


def _first(lines: dict[int, Line]) -> list[tuple[int, Line]]:
    return list(lines.items())[:_MOST_LINES]


def _difference(told: str, without: str) -> str:
    pairs = zip(told.splitlines(), without.splitlines(), strict=False)
    here, there = next(((a, b) for a, b in pairs if a != b), (told[-80:], without[-80:]))
    return f"the checker says {here!r} with it and {there!r} without"
