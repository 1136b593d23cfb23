"""A pipeline of two stages over two memories with two locks: times and idle times of both.

The producer generates a set, waits for lock A, swaps the buffers, opens lock B and generates the
next set. The consumer waits for lock B, transfers the set to its own memory, opens lock A, analyses
the set and waits again. So one set may wait while another is generated and a third is analysed.
Parts that run at once share bandwidth: the caller gives their rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PipelinePart = Literal["generate", "transfer", "analyse"]
PARTS: tuple[PipelinePart, ...] = ("generate", "transfer", "analyse")

Rates = Callable[[frozenset[PipelinePart]], dict[PipelinePart, float]]
"""Function from the parts that run at once to the sets per second of each."""


@dataclass(frozen=True)
class PipelineTimes:
    """Seconds over the whole run."""

    total: float
    generate: float
    generate_idle: float
    """Wait of the producer for lock A, until the consumer has transferred the last set."""
    transfer: float
    analyse: float
    transfer_idle: float
    """Wait of the consumer for lock B, while no set is ready."""


def run_pipeline(sets: int, rates: Rates) -> PipelineTimes:
    """Run `sets` sets through both stages.

    Raises ValueError for no sets, or a part with a rate of zero.
    """
    if sets < 1:
        raise ValueError("a pipeline needs at least one set")
    state = _Run(sets)
    known: dict[frozenset[PipelinePart], dict[PipelinePart, float]] = {}
    while state.consumed < sets:
        running = frozenset(state.left)
        if running not in known:
            of_parts = rates(running)
            if any(of_parts[part] <= 0 for part in running):
                raise ValueError("a part of the pipeline does not run: its rate is zero")
            known[running] = of_parts
        state.advance(known[running])
    return state.times()


class _Run:
    """State of both stages; `left` is the remaining share of each running part's set."""

    def __init__(self, sets: int) -> None:
        self.sets = sets
        self.generated = 0
        self.consumed = 0
        self.lock_a_open = True
        self.lock_b_open = False
        self.left: dict[PipelinePart, float] = {"generate": 1.0}
        self.spent: dict[str, float] = dict.fromkeys(
            (*PARTS, "generate_idle", "transfer_idle"), 0.0
        )
        self.clock = 0.0

    def advance(self, rate: dict[PipelinePart, float]) -> None:
        """Continue until the next part ends, then take every step that the locks allow."""
        step = min(left / rate[part] for part, left in self.left.items())
        self.clock += step
        for part in self.left:
            self.spent[part] += step
        if "generate" not in self.left and self.generated < self.sets:
            self.spent["generate_idle"] += step
        if not {"transfer", "analyse"} & self.left.keys():
            self.spent["transfer_idle"] += step
        ended: list[PipelinePart] = []
        for part, left in self.left.items():
            self.left[part] = left - step * rate[part]
            if left / rate[part] <= step:
                ended.append(part)
        for part in ended:
            del self.left[part]
            if part == "transfer":
                self.lock_a_open = True
                self.left["analyse"] = 1.0
            elif part == "analyse":
                self.consumed += 1
        self._start_parts()

    def _start_parts(self) -> None:
        """Start the next set of each stage that is idle and whose lock is open."""
        if "generate" not in self.left and self.generated < self.sets and self.lock_a_open:
            self.lock_a_open, self.lock_b_open = False, True
            self.generated += 1
            if self.generated < self.sets:
                self.left["generate"] = 1.0
        if self.lock_b_open and not {"transfer", "analyse"} & self.left.keys():
            self.lock_b_open = False
            self.left["transfer"] = 1.0

    def times(self) -> PipelineTimes:
        return PipelineTimes(
            total=self.clock,
            generate=self.spent["generate"],
            generate_idle=self.spent["generate_idle"],
            transfer=self.spent["transfer"],
            analyse=self.spent["analyse"],
            transfer_idle=self.spent["transfer_idle"],
        )
