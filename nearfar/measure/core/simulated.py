"""A simulated core whose figures are known: the window of `nearfar._window`.

Inference runs on this core as on a real one. The core has a window, a store buffer, misses in
flight, a pipeline that refills after a mispredicted branch, and latencies. It has no register
files, caches or prefetchers to probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar._window import MOST_IN_FLIGHT, Core, Medium, Trace, run
from nearfar.measure.core.subject import Array, CoreLacksError

MISS_CYCLES = 400.0
ROUNDS = 40
STORE_LINES = 60
BRANCHES, DEPENDENT = 4000, 4000
COUNTER, CHAIN, OTHER = 1, 2, 3
"""Registers."""
PRIVATE, NEAR = 0, 2
"""Where a line is: the core's own caches, memory."""

Numbers = NDArray[np.integer[Any]]
FIRST: Numbers = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class SimulatedCore:
    """A core with these sizes and cycles of 1 ns; `noise` adds what neighbours would add."""

    window: int
    store_buffer: int = 64
    miss_buffers: int = 16
    width: float = 5.0
    mispredicted: float = 16.0
    multiply_cycles: int = 3
    noise: float = 0.05
    """Mean of what neighbours add to a trial, relative."""
    seed: int = 1

    def overlap(self, fillers: Sequence[str], counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of two misses, each with so many `fillers` behind it."""
        store = list(fillers) == ["store"]
        return self._rows([_round(self, count, store) for count in counts], trials)

    def chains(self, counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of so many misses at once."""
        return self._rows([self._misses(count) for count in counts], trials)

    def dependent(self, operation: str, trials: int) -> Array:
        """Return ns per operation, each on the result of the one before."""
        cycles = {"integer add": 1, "integer multiply": self.multiply_cycles}.get(operation)
        if cycles is None:
            raise CoreLacksError(f"a simulated core has no {operation}")
        program = _Program()
        block = program.block(*[_row(cycles=cycles, uses=CHAIN, defs=CHAIN)] * DEPENDENT)
        program.burst([block])
        return self._rows([self._cycles(program, np.full(1, PRIVATE)) / DEPENDENT], trials).ravel()

    def throughput(self, filler: str, trials: int) -> Array:
        """Return ns per instruction of independent ones."""
        return self._rows([1.0 / self.width], trials).ravel()

    def branches(self, trials: int) -> Array:
        """Return ns per branch, in one direction and in random directions."""
        return self._rows([self._branch(random=False), self._branch(random=True)], trials)

    def chase(self, step_bytes: int, count: int, page_bytes: int, trials: int) -> Array:
        """Refuse: there are no caches."""
        raise CoreLacksError("a simulated core has no caches to probe")

    def after_stream(
        self, length: int, stride_bytes: int, ahead: int, trials: int, *, at_page_end: bool = False
    ) -> Array:
        """Refuse: there is no prefetcher."""
        raise CoreLacksError("a simulated core has no prefetcher to probe")

    def round(self, count: int, store: bool) -> float:
        """Return the cycles of a round: twice a miss and `count` fillers (stores if `store`)."""
        half = np.repeat(_row(), count, axis=0)
        program = _Program()
        block = program.block(
            _row(address=CHAIN, defs=CHAIN), half, _row(address=OTHER, defs=OTHER), half
        )
        # Each miss and the stores behind it.
        halves, stores = np.arange(2 * ROUNDS)[:, None], np.arange(count if store else 0)
        at = halves * (count + 1) + np.arange(1 + len(stores))
        lines = np.broadcast_to(np.append(0, stores % STORE_LINES), at.shape).copy()
        lines[:, :1] = STORE_LINES + halves
        stored = (lines < STORE_LINES).astype(int)
        program.burst([block] * ROUNDS, at.ravel(), lines.ravel(), stored.ravel())
        return self._cycles(program, np.where(stored, PRIVATE, NEAR).ravel()) / ROUNDS

    def _misses(self, chains: int) -> float:
        program = _Program()
        block = program.block(*(_row(address=i + 1, defs=i + 1) for i in range(chains)))
        total = ROUNDS * chains
        each = np.arange(total)
        program.burst([block] * ROUNDS, each, each, 0 * each)
        return self._cycles(program, np.full(total, NEAR)) / ROUNDS

    def _branch(self, *, random: bool) -> float:
        program = _Program()
        shift = _row(uses=COUNTER, defs=COUNTER)
        branch = program.block(shift, _row(uses=COUNTER, conditional=1), end=9)
        over = program.block(_row(), begin=9, end=13)
        ways = np.random.default_rng(self.seed).integers(0, 2, BRANCHES) * int(random)
        blocks: list[int] = []
        for way in ways:
            blocks += [branch, over] if way else [branch]
        program.burst(blocks)
        return self._cycles(program, np.full(1, PRIVATE)) / BRANCHES

    def _cycles(self, program: _Program, served: Numbers) -> float:
        """Return the cycles of the program, extrapolated from all but its first tenth."""
        core = Core(
            window=self.window, width=self.width, store_buffer=self.store_buffer,
            miss_buffers=self.miss_buffers, computing=1, arithmetic=1.0,
            mispredicted=self.mispredicted, first_level=4.0, second_level=14.0, last_level=50.0,
        )  # fmt: skip
        medium = Medium(
            latency=[MISS_CYCLES] * MOST_IN_FLIGHT, line=0.0, write=0.0, write_back=0.0,
            stream=0.0,
        )  # fmt: skip
        trace = program.trace()
        done = run(trace, _bytes(served), core, medium, medium)
        return float(done.cycles) * program.instructions / max(done.instructions, 1)

    def _rows(self, cycles: Sequence[float], trials: int) -> Array:
        dice = np.random.default_rng(self.seed)
        added = dice.exponential(self.noise, (len(cycles), trials)) if self.noise else 0.0
        return np.asarray(cycles)[:, None] * (1.0 + added + np.zeros((len(cycles), trials)))


@cache
def _round(core: SimulatedCore, count: int, store: bool) -> float:
    return core.round(count, store)


def _row(
    *, cycles: int = 1, conditional: int = 0, address: int = 0, uses: int = 0, defs: int = 0
) -> Numbers:
    """Return one instruction, a row of a table; registers are numbers, 0 is none."""
    return np.array([[cycles, conditional, address, uses, defs]])


class _Program:
    """Instructions in blocks, and one burst over them."""

    def __init__(self) -> None:
        self._instructions: list[Numbers] = []
        self._blocks: list[tuple[int, int, int, int]] = []
        self._burst: tuple[Sequence[int], Numbers, Numbers, Numbers] = ((), FIRST, FIRST, FIRST)
        self.instructions = 0

    def block(self, *instructions: Numbers, begin: int = 0, end: int = 1) -> int:
        """Add a block at these addresses; return its number."""
        first, count = (sum(map(len, each)) for each in (self._instructions, instructions))
        self._blocks.append((first, count, begin, end))
        self._instructions += instructions
        return len(self._blocks) - 1

    def burst(
        self,
        blocks: Sequence[int],
        instructions: Numbers = FIRST,
        lines: Numbers = FIRST,
        stores: Numbers = FIRST,
    ) -> None:
        """Set the blocks that are executed, and columns of accesses: a read of line 0 at first."""
        self._burst = (blocks, instructions, lines, stores)
        self.instructions = sum(self._blocks[number][1] for number in blocks)

    def trace(self) -> Trace:
        """Return the program as input of the native window."""
        cycles, conditional, address, uses, defs = np.concatenate(self._instructions).T
        trace = Trace()
        trace.set_code(
            cycles=_bytes(cycles), conditional=_bytes(conditional), computing=_bytes(0 * cycles),
            address_begins=_operand_offsets(address), address=_operands(address),
            uses_begins=_operand_offsets(uses), uses=_operands(uses),
            defs_begins=_operand_offsets(defs), defs=_operands(defs),
        )  # fmt: skip
        for first, count, begin, end in self._blocks:
            trace.add_block(first, count, begin, end)
        blocks, instructions, lines, stores = self._burst
        trace.add_burst(
            blocks=np.asarray(blocks, dtype=np.uint32),
            instructions=instructions.astype(np.uint32), lines=lines.astype(np.uint32),
            offsets=_bytes(0 * lines), widths=_bytes(0 * lines + 8), stores=_bytes(stores),
        )  # fmt: skip
        trace.predict()
        return trace


def _bytes(values: Numbers) -> NDArray[np.uint8]:
    return values.astype(np.uint8)


def _operands(registers: Numbers) -> NDArray[np.uint8]:
    return _bytes(registers[registers > 0])


def _operand_offsets(registers: Numbers) -> NDArray[np.uint32]:
    return np.append(0, np.cumsum(registers > 0)).astype(np.uint32)
