"""Recovery that reads stores that nothing made durable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from nearfar.crash.lints._registry import Lint, LintFinding, register

_MAX_LINES = 32
"""Maximum number of never persisted lines that are tested, one at a time."""


@register
class ReadButNeverPersisted(Lint):
    """Recovery reads a store that nothing made durable.

    The checker accepts the final pool with and without a store that nothing persisted, and prints
    different text. Nothing is reported if its text differs from one run to the next.
    """

    kind = "read but never persisted"
    pitfall = "table_not_durable"
    with_eadr = False
    cost = "recovery"

    def finish(self) -> Iterator[LintFinding]:
        """Compare the checker's output on the final pool, with and without each such line."""
        images = self.context.images
        lines = self.context.memory.candidates()
        if images is None or not images.fits(self.context.trace.pool_bytes) or not lines:
            return
        stored = {offset: line.contents[-1] for offset, line in lines.items()}
        with_all = self._output(stored)
        if with_all is None or self._output(stored) != with_all:
            return
        for offset, line in islice(lines.items(), _MAX_LINES):
            if images.exhausted():
                return
            without = self._output({at: c for at, c in stored.items() if at != offset})
            if without is not None and without != with_all:
                note = _difference(with_all, without)
                yield LintFinding(self.kind, offset, line.stacks[-1], note)

    def _output(self, lines: dict[int, bytes]) -> str | None:
        """Return the checker's output for the durable pool with these lines; None: it fails."""
        images, memory = self.context.images, self.context.memory
        assert images is not None
        images.write(memory.durable, lines, self.context.trace.pool_bytes)
        verdict = images.recover(memory.done, memory.begun)
        return None if verdict.symptom else verdict.output


def _difference(complete: str, without: str) -> str:
    pairs = zip(complete.splitlines(), without.splitlines(), strict=False)
    first, second = next(((a, b) for a, b in pairs if a != b), (complete[-80:], without[-80:]))
    return f"the checker prints {first!r} with it and {second!r} without"
