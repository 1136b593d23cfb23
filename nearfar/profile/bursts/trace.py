"""Bursts as arrays, for the native window model, with the accesses that miss.

What the caches hold when a burst begins is unknown, so the burst's first touch of a line may or may
not miss. The sampled lines of the whole run give the number of misses of each instruction. Which
first touches miss is assumed: those of the coldest lines, which the fewest bursts touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from nearfar import _window
from nearfar.documents.bursts import FLAGS, Burst, Bursts, Code

PRIVATE, LAST_LEVEL, NEAR, FAR = range(4)
"""Levels that serve a line, as nearfar._window numbers them."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BurstTrace:
    """Bursts of one phase; the accesses of all bursts in order."""

    native: _window.Trace
    starts: list[int]
    """Index of each burst's first access, then the number of accesses."""
    access: Ints
    """Indices in `Bursts.accesses`."""
    at: Ints
    """Number of each access's instruction, counted through all bursts."""
    line: Ints
    store: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    """Whether an access fetches a line from memory."""
    expected: float
    """Misses that the accesses' rates imply; more than `missing` where lines miss repeatedly."""
    hits: Ints
    """Indices of first touches in a burst that hit some cache, coldest lines first: those that the
    fewest bursts touch."""
    depends: Ints
    instructions: int
    mispredictions: int

    def served(self, last_level: float) -> NDArray[np.uint8]:
        """Return the level that serves each access, `last_level` of them by the last-level cache.

        Lines touched before in their burst are in the core's private caches.
        """
        levels = np.where(self.missing, NEAR, PRIVATE).astype(np.uint8)
        levels[self.hits[: max(0, round(last_level))]] = LAST_LEVEL
        return levels


def make_trace(
    bursts: Bursts,
    number: int,
    max_instructions: float = float("inf"),
    max_accesses: float = float("inf"),
) -> BurstTrace:
    """Convert phase `number` of `bursts.phases` to arrays.

    With more instructions or accesses, every second, third, ... burst is used.
    """
    phase = bursts.phases[number]
    native = native_code(bursts)
    access_of_row = np.array([row.access for row in bursts.code], dtype=np.int64)
    counts = np.array([block.count for block in bursts.blocks], dtype=np.int64)
    firsts = np.array([block.first for block in bursts.blocks], dtype=np.int64)
    starts, columns, executed = [0], [], 0
    widths = np.array([access_row.bytes for access_row in bursts.accesses] or [0], dtype=np.uint8)
    for burst in _chosen(phase.bursts, counts, max_instructions, max_accesses):
        blocks = np.array(burst.blocks, dtype=np.uint32)
        at = np.cumsum(np.array(burst.gaps, dtype=np.int64))
        lines = np.array(burst.lines, dtype=np.int64)
        store = lines < 0
        line = np.where(store, -1 - lines, lines)
        ends = np.cumsum(counts[blocks])
        block = np.searchsorted(ends, at, side="right")
        row = firsts[blocks[block]] + at - (ends - counts[blocks])[block]
        native.add_burst(
            blocks=blocks,
            instructions=at.astype(np.uint32),
            lines=line.astype(np.uint32),
            offsets=np.array(burst.offsets, dtype=np.uint8),
            widths=widths[access_of_row[row]],
            stores=store.astype(np.uint8),
        )
        depended = np.array(burst.depends, dtype=np.int64)
        columns.append((access_of_row[row], at + executed, line, store, depended))
        starts.append(starts[-1] + len(at))
        executed += int(ends[-1]) if len(ends) else 0
    access, at, line, store, depends = (
        np.concatenate([np.zeros(0, np.int64), *(column[i] for column in columns)])
        for i in range(5)
    )
    rates = np.array([access_row.misses[number] for access_row in bursts.accesses] or [0.0])
    missing, hits = _first_touches(starts, access, line, rates)
    return BurstTrace(
        native=native,
        starts=starts,
        access=access,
        at=at,
        line=line,
        store=store.astype(bool),
        missing=missing,
        expected=float(rates[access].sum()) if len(access) else 0.0,
        hits=hits,
        depends=depends,
        instructions=executed,
        mispredictions=native.predict(),
    )


def _chosen(
    bursts: list[Burst], counts: Ints, max_instructions: float, max_accesses: float
) -> list[Burst]:
    """Return every burst, or every second, third, ...; `counts` has instructions by block."""
    instructions = sum(int(counts[burst.blocks].sum()) for burst in bursts)
    accesses = sum(len(burst.lines) for burst in bursts)
    return bursts[:: ceil(max(1.0, instructions / max_instructions, accesses / max_accesses))]


def native_code(bursts: Bursts) -> _window.Trace:
    """Return a native trace of the code, without bursts."""
    native = _window.Trace()
    address, uses, defs = (
        [getattr(row, name) for row in bursts.code] for name in ("address", "uses", "defs")
    )
    native.set_code(
        cycles=np.array([row.cycles for row in bursts.code], dtype=np.uint8),
        conditional=np.array([row.conditional for row in bursts.code], dtype=np.uint8),
        computing=np.array([computes_what_it_loads(bursts, row) for row in bursts.code], np.uint8),
        address_begins=_begins(address),
        address=_joined(address),
        uses_begins=_begins(uses),
        uses=_joined(uses),
        defs_begins=_begins(defs),
        defs=_joined(defs),
    )
    for block in bursts.blocks:
        native.add_block(block.first, block.count, block.begin, block.end)
    return native


def computes_what_it_loads(bursts: Bursts, row: Code) -> bool:
    """Return whether an instruction loads, and computes with what it loaded."""
    loads = row.access >= 0 and bursts.accesses[row.access].loads
    return loads and (FLAGS in row.defs or bool(row.uses))


def _begins(rows: list[list[int]]) -> NDArray[np.uint32]:
    return np.cumsum([0, *(len(row) for row in rows)]).astype(np.uint32)


def _joined(rows: list[list[int]]) -> NDArray[np.uint8]:
    return np.array([number for row in rows for number in row], dtype=np.uint8)


def _first_touches(
    starts: list[int], access: Ints, line: Ints, rates: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], Ints]:
    """Return which accesses miss, and the indices of the other first touches, coldest first.

    `starts`: index of each burst's first access, and the end. `access` and `line`: number in
    `Bursts.accesses` and cache line of each access. `rates`: misses per access, by that number.
    """
    missing = np.zeros(len(line), dtype=bool)
    if not len(line):
        return missing, np.zeros(0, np.int64)
    burst = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    # First touches: the first of each pair of burst and line.
    _, first = np.unique(np.stack([burst, line]), axis=1, return_index=True)
    in_bursts = np.bincount(line[first], minlength=int(line.max()) + 1)[line]
    expected = np.bincount(access, minlength=len(rates)) * rates
    # A hash orders equally cold lines, so that the misses of an instruction are spread.
    mixed = (line.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    coldest = first[np.lexsort((mixed[first], in_bursts[first]))]
    order = coldest[np.argsort(access[coldest], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(access[order], access[order], side="left")
    missing[order] = rank + 0.5 < expected[access[order]]
    # A miss counts for the first instruction, which may differ between bursts.
    left = coldest[~missing[coldest]]
    missing[left[: max(0, round(float(expected.sum()) - int(missing.sum())))]] = True
    return missing, coldest[~missing[coldest]]
