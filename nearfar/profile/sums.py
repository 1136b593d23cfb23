"""Traffic of several objects, phases or runs added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.workload import AccessClasses, ObjectTraffic, Traffic

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """What several rows come to; counts as in Traffic, curves by capacity."""

    traffic: Traffic
    read: Array | None
    write: Array | None


def add_rows(rows: Sequence[ObjectTraffic], weights: Sequence[float] | None = None) -> Row:
    """Add traffic and curves up; a part without a curve (few touches) adds its misses to it."""
    factors = weights if weights is not None else [1.0] * len(rows)
    total = Traffic()
    read = write = np.zeros(0)
    known = [row.curve for row in rows if row.curve is not None]
    if known:
        read, write = np.zeros(len(known[0].read)), np.zeros(len(known[0].read))
    for row, weight in zip(rows, factors, strict=True):
        total = add_traffic(total, row.traffic, weight)
        if known and row.curve is not None:
            read = read + weight * np.asarray(row.curve.read)
            write = write + weight * np.asarray(row.curve.write)
        elif known:
            read = read + weight * row.traffic.read_misses.total()
            write = write + weight * row.traffic.write_misses.total()
    return Row(total, read, write) if known else Row(total, None, None)


def add_traffic(one: Traffic, other: Traffic, weight: float = 1.0) -> Traffic:
    """Return `one` and `weight` times `other`."""

    def classes(a: AccessClasses, b: AccessClasses) -> AccessClasses:
        return AccessClasses(
            chase=a.chase + weight * b.chase,
            indirect=a.indirect + weight * b.indirect,
            stream=a.stream + weight * b.stream,
            opaque=a.opaque + weight * b.opaque,
        )

    return Traffic(
        accesses=one.accesses + weight * other.accesses,
        read_misses=classes(one.read_misses, other.read_misses),
        write_misses=classes(one.write_misses, other.write_misses),
        read_sequential=classes(one.read_sequential, other.read_sequential),
        write_sequential=classes(one.write_sequential, other.write_sequential),
        write_backs=one.write_backs + weight * other.write_backs,
        flushes=one.flushes + weight * other.flushes,
        fences=one.fences + weight * other.fences,
        nt_store_bytes=one.nt_store_bytes + weight * other.nt_store_bytes,
        log_bytes=one.log_bytes + weight * other.log_bytes,
        syncs=one.syncs + weight * other.syncs,
        sync_bytes=one.sync_bytes + weight * other.sync_bytes,
        tlb_misses_4k=one.tlb_misses_4k + weight * other.tlb_misses_4k,
        tlb_misses_2m=one.tlb_misses_2m + weight * other.tlb_misses_2m,
        private_misses=one.private_misses + weight * other.private_misses,
        transfers=one.transfers + weight * other.transfers,
    )
