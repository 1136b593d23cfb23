"""A simulated core whose figures are known: the window of `nearfar._window`.

Inference runs on this core as on a real one. The core has a window, a store buffer, misses in
flight, a pipeline that refills after a mispredicted branch, and latencies. It has no register
files, caches or prefetchers to probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

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
        block = program.block([_Row(cycles=cycles, uses=CHAIN, defs=CHAIN)] * DEPENDENT)
        program.burst([block], [(0, 0, False)])
        return self._rows([self._cycles(program, [PRIVATE]) / DEPENDENT], trials).ravel()

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
        filler = _Row()
        half = [filler] * count
        program = _Program()
        block = program.block(
            [_Row(address=CHAIN, defs=CHAIN), *half, _Row(address=OTHER, defs=OTHER), *half]
        )
        accesses, served = [], []
        length = 2 * (count + 1)
        for number in range(ROUNDS):
            for part in range(2):
                at = number * length + part * (count + 1)
                accesses.append((at, STORE_LINES + 2 * number + part, False))
                served.append(NEAR)
                for i in range(count if store else 0):
                    accesses.append((at + 1 + i, i % STORE_LINES, True))
                    served.append(PRIVATE)
        program.burst([block] * ROUNDS, accesses)
        return self._cycles(program, served) / ROUNDS

    def _misses(self, chains: int) -> float:
        program = _Program()
        rows = [_Row(address=i + 1, defs=i + 1) for i in range(chains)]
        block = program.block(rows)
        total = ROUNDS * chains
        program.burst([block] * ROUNDS, [(i, i, False) for i in range(total)])
        return self._cycles(program, [NEAR] * total) / ROUNDS

    def _branch(self, *, random: bool) -> float:
        program = _Program()
        shift = _Row(uses=COUNTER, defs=COUNTER)
        branch = program.block([shift, _Row(uses=COUNTER, conditional=True)], 0, 9)
        over = program.block([_Row()], 9, 13)
        ways = np.random.default_rng(self.seed).integers(0, 2, BRANCHES) * int(random)
        blocks: list[int] = []
        for way in ways:
            blocks += [branch, over] if way else [branch]
        program.burst(blocks, [(0, 0, False)])
        return self._cycles(program, [PRIVATE]) / BRANCHES

    def _cycles(self, program: _Program, served: Sequence[int]) -> float:
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
        done = run(trace, np.asarray(served, dtype=np.uint8), core, medium, medium)
        return float(done.cycles) * program.instructions / max(done.instructions, 1)

    def _rows(self, cycles: Sequence[float], trials: int) -> Array:
        dice = np.random.default_rng(self.seed)
        added = dice.exponential(self.noise, (len(cycles), trials)) if self.noise else 0.0
        return np.asarray(cycles)[:, None] * (1.0 + added + np.zeros((len(cycles), trials)))


@cache
def _round(core: SimulatedCore, count: int, store: bool) -> float:
    return core.round(count, store)


@dataclass(frozen=True)
class _Row:
    """One instruction; registers are numbers, 0 is none."""

    cycles: int = 1
    address: int = 0
    uses: int = 0
    defs: int = 0
    conditional: bool = False


class _Program:
    """Instructions in blocks, and one burst over them."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._blocks: list[tuple[int, int, int, int]] = []
        self._burst: tuple[list[int], list[tuple[int, int, bool]]] = ([], [])
        self.instructions = 0

    def block(self, rows: Sequence[_Row], begin: int = 0, end: int = 1) -> int:
        """Add a block at these addresses; return its number."""
        self._blocks.append((len(self._rows), len(rows), begin, end))
        self._rows += rows
        return len(self._blocks) - 1

    def burst(self, blocks: list[int], accesses: list[tuple[int, int, bool]]) -> None:
        """Set what is executed; accesses are (instruction, line, whether a store)."""
        self._burst = (blocks, accesses)
        self.instructions = sum(self._blocks[number][1] for number in blocks)

    def trace(self) -> Trace:
        """Return the program as input of the native window."""
        rows = self._rows
        address, uses, defs = (
            [getattr(row, name) for row in rows] for name in ("address", "uses", "defs")
        )
        trace = Trace()
        trace.set_code(
            cycles=_bytes([row.cycles for row in rows]),
            conditional=_bytes([row.conditional for row in rows]),
            computing=_bytes([0] * len(rows)),
            address_begins=_operand_offsets(address), address=_operands(address),
            uses_begins=_operand_offsets(uses), uses=_operands(uses),
            defs_begins=_operand_offsets(defs), defs=_operands(defs),
        )  # fmt: skip
        for first, count, begin, end in self._blocks:
            trace.add_block(first, count, begin, end)
        blocks, accesses = self._burst
        trace.add_burst(
            blocks=np.asarray(blocks, dtype=np.uint32),
            instructions=np.asarray([each[0] for each in accesses], dtype=np.uint32),
            lines=np.asarray([each[1] for each in accesses], dtype=np.uint32),
            offsets=_bytes([0] * len(accesses)),
            widths=_bytes([8] * len(accesses)),
            stores=_bytes([each[2] for each in accesses]),
        )
        trace.predict()
        return trace


def _bytes(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.asarray(values, dtype=np.uint8)


def _operands(registers: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return _bytes([register for register in registers if register])


def _operand_offsets(registers: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    present = np.asarray([0, *(int(register > 0) for register in registers)])
    return np.cumsum(present).astype(np.uint32)
