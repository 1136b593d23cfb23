"""The run folder's file `emulation`: what a line costs near and far, for the run time's delays.

The layout is that of native/profile/runtime/emulation.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearfar.predict.memory import MemoryCosts
from nearfar.predict.overlap import (
    MAX_OVERLAP,
    MIN_OVERLAP,
    StreamFetch,
    line_costs,
    overlap_at,
)
from nearfar.predict.traffic import HITS, Array

FILE_NAME = "emulation"
MAGIC = b"NFEMUL"
VERSION = 5
FACTORS = 65
"""Degrees of overlap, from all serial to as much as a core can: 10 % apart, and near time that lies
between two takes costs between theirs."""
BATCH = 256
"""Sampled misses of one thread that are settled together: 16,384 lines at the usual rate, so that
reading the clock is below 1 % and sampling scatters a batch by 6 %."""
LEAST_NS = 1_000_000
"""Such batches go together until they have taken this long. A stream's would take 40 us; the
arithmetic, 2 to 5 us, counts as tracing, and the prefetcher starts anew after each wait."""
TERMS = 5
"""loads, stream, buffers, reads, all_lines: what of `Part` a line adds to."""
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
class Paid:
    """What the run time did, summed over threads."""

    batches: int
    delayed_ns: int
    """CPU time waited."""
    waited_ns: tuple[int, ...] = (0,) * PHASES
    """CPU time waited, by number of phase."""
    unpaid_of: tuple[int, ...] = (0,) * PHASES
    """CPU time that tracing took beyond what far memory would have, by number of phase: it could
    not be taken off."""

    @property
    def unpaid_ns(self) -> int:
        """Of all phases."""
        return sum(self.unpaid_of)

    def settled_ns(self, number: int) -> int:
        """Return what a phase waited or could not take off; nothing: no miss was settled in it."""
        return self.waited_ns[number] + self.unpaid_of[number] if number < PHASES else 0


def costs(memory: MemoryCosts, ahead: bool) -> Array:
    """Return ns of a line by overlap, kind of line and term; shape (FACTORS, HITS, TERMS).

    `ahead`: this core fetches streams ahead of their use. One thread's own: what threads take from
    each other they do in this machine's memory.
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
    """Write the file. `shares` are plain over traced time by number of phase, 0..1.

    `ahead`: this core fetches streams ahead of their use. Everything is to take `slow_motion` times
    as long as it would in the far memory, 1 or more.
    """
    keys = np.array(sorted(near_keys), dtype="u8")
    header = np.zeros(1, _HEADER)
    header["magic"], header["version"] = MAGIC, VERSION
    header["factors"], header["batch"], header["near_sites"] = FACTORS, BATCH, len(keys)
    header["slow_motion"], header["least_ns"] = slow_motion, LEAST_NS
    whole = np.full(PHASES, shares.get(-1, 1.0))
    for number, share in shares.items():
        if number >= 0:
            whole[number] = share
    header["share"] = whole
    data = [header.tobytes(), costs(near, ahead).tobytes(), costs(far, ahead).tobytes()]
    path.write_bytes(b"".join([*data, keys.tobytes()]))


def paid(path: Path) -> Paid:
    """Read what the run time did."""
    header = np.frombuffer(path.read_bytes(), _HEADER, 1)[0]
    return Paid(
        int(header["batches"]),
        int(header["delayed_ns"]),
        tuple(header["waited_ns"].tolist()),
        tuple(header["unpaid_ns"].tolist()),
    )
