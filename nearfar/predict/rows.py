"""Counts of a profile as rows of traffic: which column a miss of each access class belongs to."""

from __future__ import annotations

from itertools import chain
from operator import attrgetter

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.workload import AccessClasses, MemoryObject, Phase, Traffic, WorkloadProfile
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    FENCE,
    FLUSH,
    HITS,
    INDEPENDENT,
    NT_LINE,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
)

TRAINING_LINES = 2.0
"""Lines of a stream before a prefetcher follows it: it must see two misses to know a direction. A
stream over an allocation of a few lines is mostly fetched on demand."""


def demand_share(entry: MemoryObject) -> float:
    """Return the share of an object's stream misses that occur before a prefetcher follows.

    Streams end at the ends of allocations, so the mean size of these limits their length.
    """
    if entry.kind != "heap" or entry.allocations <= 0 or entry.allocated_bytes <= 0:
        return 0.0
    return min(1.0, TRAINING_LINES * LINE_BYTES * entry.allocations / entry.allocated_bytes)


CHASED, INDIRECT, STREAMED, OPAQUE = range(4)
"""Rows of the arrays by access class."""

CLASSES = attrgetter("chase", "indirect", "stream", "opaque")
OTHERS = attrgetter("accesses", "write_backs", "flushes", "fences", "syncs", "nt_store_bytes")
"""Counts of `AccessClasses` and the other ones of `Traffic`, as tuples."""


def traffic_rows(
    traffics: list[Traffic], demand_shares: Array, opaque_sequences: float = 1.0
) -> Array:
    """Return the columns of each traffic, shape (rows, COLUMNS); all rows at once for speed.

    `opaque_sequences`: factor on the misses of unknown class that come in sequence.
    """
    read, read_in_sequence, write, write_in_sequence = (
        _classes(list(map(attrgetter(name), traffics)))
        for name in ("read_misses", "read_sequential", "write_misses", "write_sequential")
    )
    for in_sequence in (read_in_sequence, write_in_sequence):
        in_sequence[OPAQUE] *= opaque_sequences
    # A sync counts as a flush with a fence; how many lines of its page were dirty is not known.
    counts = np.fromiter(chain.from_iterable(map(OTHERS, traffics)), float, 6 * len(traffics))
    accesses, backs, flushes, fences, syncs, nt_bytes = counts.reshape(-1, 6).T
    flushes, fences = flushes + syncs, fences + syncs
    read = _as_prefetched(read, read_in_sequence)
    write = _as_prefetched(write, write_in_sequence)
    read_stream, write_stream = read[STREAMED], write[STREAMED]
    on_demand, store_on_demand = read_stream * demand_shares, write_stream * demand_shares
    stores = write.sum(axis=0)
    lines = read.sum(axis=0) + stores
    # Lines that a stream stored to are written back in sequence. If no store missed (each line was
    # loaded first), write-backs have the share of streams among all misses.
    back_streamed = np.where(stores > 0, _share(write_stream, stores), _share(read_stream, lines))
    # Only hits that delay a chain of loads matter (see models/inversion), so the share of hits that
    # belongs to streams is left out.
    hits = np.maximum(0.0, accesses - lines) * (1.0 - _share(read_stream + write_stream, lines))
    rows = np.empty((len(traffics), COLUMNS))
    rows[:, CHASE] = read[CHASED]
    rows[:, INDEPENDENT] = read[INDIRECT] + read[OPAQUE] + on_demand
    rows[:, STREAM] = read_stream - on_demand
    rows[:, STORE] = stores - write_stream + store_on_demand
    rows[:, STORE_STREAM] = write_stream - store_on_demand
    rows[:, WRITE_BACK] = backs * (1.0 - back_streamed)
    rows[:, WRITE_BACK_STREAM] = backs * back_streamed
    rows[:, HITS] = hits
    rows[:, FLUSH], rows[:, FENCE], rows[:, NT_LINE] = flushes, fences, nt_bytes / LINE_BYTES
    return rows


def _classes(counts: list[AccessClasses]) -> Array:
    """Return counts by access class, shape (4, rows)."""
    values = chain.from_iterable(map(CLASSES, counts))
    return np.ascontiguousarray(np.fromiter(values, float, 4 * len(counts)).reshape(-1, 4).T)


def _as_prefetched(lines: Array, in_sequence: Array) -> Array:
    """Return misses as the prefetcher treats them: misses seen in sequence become streams."""
    moved = np.minimum(in_sequence, lines)
    moved[STREAMED] = 0.0
    prefetched = lines - moved
    prefetched[STREAMED] += moved.sum(axis=0)
    return prefetched


def _share(part: Array, whole: Array) -> Array:
    """Return part over whole, 0 where the whole is 0."""
    return np.asarray(part / np.where(whole > 0, whole, 1.0))


def unseen_sequences(workload: WorkloadProfile, phase: Phase, lines: Array) -> Array | None:
    """Return the change of all traffic if misses of unknown class have twice the seen sequences.

    A miss is seen in sequence if its instruction missed the preceding page. In code that is not
    instrumented, several instructions may alternate on one sequence (an unrolled loop, a match
    finder and the copy after it), so that only a part is seen. Objects without any seen sequence
    keep their traffic.
    """
    seen = [row for row in phase.objects if _opaque_sequences(row.traffic)]
    if not seen:
        return None
    demand = np.array([demand_share(entry) for entry in workload.objects])
    demand = demand[np.array([row.object for row in seen])]
    traffics = [row.traffic for row in seen]
    few, many = (traffic_rows(traffics, demand, times).sum(axis=0) for times in (1.0, 2.0))
    change: Array = np.maximum(many - few, -lines.sum(axis=0))
    return change


def _opaque_sequences(traffic: Traffic) -> bool:
    """Return whether misses of unknown class were seen in sequence."""
    return traffic.read_sequential.opaque > 0 or traffic.write_sequential.opaque > 0
