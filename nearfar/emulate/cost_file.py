"""The file `emulation` of the run folder: line costs near and far, for the run time's delays.

The layout is that of native/profile/runtime/emulation.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearfar.predict.core_time import MAX_OVERLAP, MIN_OVERLAP, StreamFetch, line_costs, overlap_at
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.traffic import HITS, Array

FILE_NAME = "emulation"
MAGIC = b"NFEMUL"
VERSION = 5
FACTORS = 65
"""Degrees of overlap, from serial to the most a core can do, 10 % apart; the run time interpolates
between two of them."""
BATCH = 256
"""Sampled misses of one thread that are settled together: 16,384 lines at the usual rate, so that
reading the clock takes less than 1 % and sampling scatters a batch by 6 %."""
MIN_BATCH_NS = 1_000_000
"""Time from which batches are settled. A batch of a stream takes 40 us; the arithmetic, 2 to 5 us,
counts as tracing, and the prefetcher starts again after each wait."""
TERMS = 5
"""Terms of `Part` that a line adds to: loads, stream, buffers, reads, all_lines."""
PHASES = 256

_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "u4"),
        ("factors", "u4"),
        ("batch", "u4"),
        ("near_sites", "u4"),
        ("slow_motion", "f8"),
        ("least_ns", "u8"),
        ("batches", "u8"),
        ("delayed_ns", "u8"),
        ("share", "f8", PHASES),
        ("waited_ns", "u8", PHASES),
        ("unpaid_ns", "u8", PHASES),
    ]
)


@dataclass(frozen=True)
class Settlement:
    """The delays that the run time made, summed over threads."""

    batches: int
    delayed_ns: int
    """CPU time waited."""
    waited_by_phase: tuple[int, ...] = (0,) * PHASES
    """CPU time waited, ns, by number of phase."""
    unpaid_by_phase: tuple[int, ...] = (0,) * PHASES
    """CPU time, ns, by number of phase, by which tracing exceeded the time of the far memory; no
    delay can remove it."""

    @property
    def unpaid_ns(self) -> int:
        """The sum of all phases' unpaid time."""
        return sum(self.unpaid_by_phase)

    def settled_ns(self, number: int) -> int:
        """Return the waited plus the unpaid time of a phase; 0: none of its misses was settled."""
        if number >= PHASES:
            return 0
        return self.waited_by_phase[number] + self.unpaid_by_phase[number]


def costs(memory: MemoryCosts, ahead: bool) -> Array:
    """Return ns per line by overlap, kind of line and term; shape (FACTORS, HITS, TERMS).

    `ahead`: this core prefetches streams. The costs are of one thread: contention between threads
    occurs in this machine's memory during the run.
    """
    factors = np.geomspace(MIN_OVERLAP, MAX_OVERLAP, FACTORS)
    streams = StreamFetch(ahead)
    rows = [line_costs(memory, overlap_at(float(f)), streams, 1.0)[:HITS, :TERMS] for f in factors]
    return np.stack(rows)


def write(
    path: Path,
    near: MemoryCosts,
    far: MemoryCosts,
    shares: Mapping[int, float],
    near_keys: Iterable[int],
    *,
    ahead: bool,
    slow_motion: float = 1.0,
) -> None:
    """Write the file. `shares` are plain over traced time, 0..1, by phase number.

    `ahead`: this core prefetches streams. The whole run takes `slow_motion` (1 or more) times as
    long as with the far memory.
    """
    keys = np.array(sorted(near_keys), dtype="u8")
    header = np.zeros(1, _HEADER)
    header["magic"], header["version"] = MAGIC, VERSION
    header["factors"], header["batch"], header["near_sites"] = FACTORS, BATCH, len(keys)
    header["slow_motion"], header["least_ns"] = slow_motion, MIN_BATCH_NS
    by_phase = np.full(PHASES, shares.get(-1, 1.0))
    for number, share in shares.items():
        if number >= 0:
            by_phase[number] = share
    header["share"] = by_phase
    data = [header.tobytes(), costs(near, ahead).tobytes(), costs(far, ahead).tobytes()]
    path.write_bytes(b"".join([*data, keys.tobytes()]))


def read_settlement(path: Path) -> Settlement:
    """Read the delays that the run time made."""
    header = np.frombuffer(path.read_bytes(), _HEADER, 1)[0]
    return Settlement(
        int(header["batches"]),
        int(header["delayed_ns"]),
        tuple(header["waited_ns"].tolist()),
        tuple(header["unpaid_ns"].tolist()),
    )
