"""Which states of a failure point are judged, in which order."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping

from nearfar.crash.memory import Line

_ALL_OF_THEM = 16
"""All states are judged where there are no more than these: four lines of one store each."""
_RANDOM_STATES = 8


def states_of(lines: Mapping[int, Line], dice: random.Random) -> Iterator[dict[int, int]]:
    """Yield states: offset of a line to how many of its stores survived; absent: none did.

    None, all, what was flushed, each line alone, all but each, each line in the middle of its
    stores, some at random.
    """
    if math.prod(len(line.contents) + 1 for line in lines.values()) <= _ALL_OF_THEM:
        ways = [range(len(line.contents) + 1) for line in lines.values()]
        for chosen in itertools.product(*ways):
            yield {o: n for o, n in zip(lines, chosen, strict=True) if n}
        return
    whole = {offset: len(line.contents) for offset, line in lines.items()}
    yield {}
    yield whole
    yield {offset: line.flushed for offset, line in lines.items() if line.flushed}
    for offset, stores in whole.items():
        yield {offset: stores}
        yield {other: n for other, n in whole.items() if other != offset}
    for offset, line in lines.items():
        for stores in range(1, len(line.contents)):
            yield {offset: stores}
            yield {**whole, offset: stores}
    for _ in range(_RANDOM_STATES):
        chosen_at_random = {o: dice.randint(0, n) for o, n in whole.items()}
        yield {o: n for o, n in chosen_at_random.items() if n}
