"""Persistent maps next to libpmemobj's example maps; volatile maps next to the standard's.

50,000 keys on tmpfs, flushed as if it were persistent memory. The examples are measured in turns
with our maps, so they are the shared reference: figures of another machine scale with them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

from msgspec.structs import asdict

from benchmarks import Row, alternate, make_row, paired_ratio
from benchmarks.map_runs import (
    MAPS,
    OPERATIONS,
    counts,
    cpu_ns,
    peer,
    run_ours,
    run_peer,
    transaction_ns,
)
from nearfar.base.errors import NearfarError

SECONDS = 100

N = 50_000
REPETITIONS = 5
MOST = 1.1
"""Maximum share of the peer's time."""
ALLOCATOR = 1.005
"""No more than the peer's, except for libpmemobj's own work when a chunk of its heap is full, which
depends on the sizes of all blocks."""
COUNTED = ("transactions", "snapshots", "flush_calls", "lines")
COMMAND = "make benchmarks ONLY=maps"
VOLATILE_PEER = {"hash-tx": "std-unordered-map", "hash-robin-hood": "std-unordered-map"}
"""Ordered maps are compared with std::map. hash-atomic's volatile form is that of hash-tx."""

LEAKS = "skip-list", "remove", "lines"
"""The example never frees the removed node, so its lines are those of less work. Our map still
takes fewer calls."""

ONCE_NS = {
    "hash-tx": (3330, 109, 2774),
    "hash-atomic": (3891, 124, 3089),
    "b-tree": (1390, 186, 1493),
    "red-black": (4159, 354, 3340),
    "crit-bit": (3701, 1498, 2712),
    "radix": (2574, 562, 4554),
}
"""Processor ns of the examples' inserts, gets and removes of 50,000 keys, measured on another two-
core cloud machine, libpmemobj 1.12.1, PMEM_IS_PMEM_FORCE=1 on tmpfs."""
REFERENCE = "hash-tx", 0
"""Reference for scaling: the example's insert on both machines, a transaction that changes two
words and allocates an entry."""


def rows(n: int = N, repetitions: int = REPETITIONS) -> Iterator[Row]:
    """Yield rows of counts, of persistent times, of volatile times."""
    try:
        peer()
    except NearfarError as error:
        print(f"maps: no rows of persistent maps: {error}")
    else:
        yield from references()
        times: dict[tuple[str, str], Row] = {}
        for name in MAPS:
            for row in persistent(name, n, repetitions):
                times[name, row.name] = row
                yield row
        yield from once_measured(times, n)
    yield from volatile(n, repetitions)


def references() -> Iterator[Row]:
    """Yield the time of one transaction here, the unit of all other times."""
    for with_ in ("nothing", "alloc", "free"):
        result = statistics.median(transaction_ns(with_) for _ in range(3))
        added = "" if with_ == "nothing" else f" and {with_}s 64 bytes"
        yield shown_only(
            f"reference: a transaction that changes a word{added}",
            result,
            "ns",
            peer="none: it is the machine's and libpmemobj's",
        )


def shown_only(
    name: str, value: float, unit: str, *, peer: str, peer_value: float | None = None
) -> Row:
    """Return a row without a bar."""
    return make_row(name, value, unit, bar=None, peer=peer, peer_value=peer_value, command=COMMAND)


def once_measured(found: dict[tuple[str, str], Row], n: int) -> Iterator[Row]:
    """Yield our times next to the figures of `ONCE_NS`, scaled to this machine by the reference."""

    def row_of(name: str, operation: str) -> Row:
        return found[name, time_of(name, n, operation)]

    name, place = REFERENCE
    here = row_of(name, OPERATIONS[place]).peer_value
    assert here is not None
    scale = here / ONCE_NS[name][place]
    for name, figures in ONCE_NS.items():
        for operation, figure in zip(OPERATIONS, figures, strict=True):
            ours = row_of(name, operation)
            yield make_row(
                f"{ours.name}, once measured",
                ours.value,
                "ns",
                bar=MOST,
                judge="ratio",
                peer=f"the figure from there x {scale:.2f}",
                peer_value=figure * scale,
                command=COMMAND,
            )


def time_of(name: str, n: int, operation: str) -> str:
    """Return the name of a row of times."""
    return f"{name} of {n:,} keys, {operation}: processor time"


def persistent(name: str, n: int, repetitions: int) -> Iterator[Row]:
    """Yield a map's counts and times next to the example map's."""
    theirs = {each: asdict(line) for each, line in run_peer(name, n, count=True).items()}
    ours = {each: counts(run_ours(name, n, each, "tmpfs", "count")) for each in OPERATIONS}
    yield from count_rows(name, n, ours, theirs)
    times: dict[str, list[list[float]]] = {operation: [[], []] for operation in OPERATIONS}
    for _ in range(repetitions):
        lines = run_peer(name, n)
        for operation in OPERATIONS:
            times[operation][0].append(cpu_ns(run_ours(name, n, operation, "tmpfs")))
            times[operation][1].append(lines[operation].cpu_ns_per_operation)
    for operation, (ours_ns, theirs_ns) in times.items():
        yield time_row(
            time_of(name, n, operation),
            statistics.median(ours_ns),
            paired_ratio(ours_ns, theirs_ns),
            "example map",
        )


def count_rows(
    name: str,
    n: int,
    ours: dict[str, dict[str, float]],
    theirs: dict[str, dict[str, float]],
    peer: str = "example map",
) -> Iterator[Row]:
    """Yield a row for each count per operation of both."""
    for operation in OPERATIONS:
        for what in COUNTED:
            value, peer_value = ours[operation][what], theirs[operation][what]
            if operation == "get" and value == peer_value == 0:
                continue
            text = f"{name} of {n:,} keys, {operation}: {what}"
            if (name, operation, what) == LEAKS:
                leaks = f"{peer}, which never frees the node"
                yield shown_only(text, value, "per operation", peer=leaks, peer_value=peer_value)
                continue
            yield make_row(
                text,
                value,
                "per operation",
                bar=peer_value * ALLOCATOR,
                peer=peer,
                peer_value=peer_value or None,
                command=COMMAND,
            )


def time_row(name: str, ns: float, ratio: float, peer: str) -> Row:
    """Return a row of our ns per operation, judged by their ratio to the peer's."""
    return make_row(
        name,
        ns,
        "ns",
        bar=MOST,
        judge="ratio",
        peer=peer,
        peer_value=ns / ratio,
        command=COMMAND,
    )


def volatile(n: int, repetitions: int) -> Iterator[Row]:
    """Yield the volatile maps' times next to those of the standard library's maps."""
    for name in MAPS:
        if name == "hash-atomic":
            continue
        beside = VOLATILE_PEER.get(name, "std-map")
        for operation in OPERATIONS:
            ours, theirs = alternate(
                [partial(_volatile_ns, each, n, operation) for each in (name, beside)], repetitions
            )
            yield time_row(
                volatile_time_of(name, n, operation),
                statistics.median(ours),
                paired_ratio(ours, theirs),
                standard(beside),
            )


def volatile_time_of(name: str, n: int, operation: str) -> str:
    """Return the name of a row of times of a volatile map."""
    return f"volatile {time_of(name, n, operation)}"


def standard(name: str) -> str:
    """Return the C++ name of a map of the standard library."""
    return name.replace("std-", "std::").replace("-", "_")


def _volatile_ns(name: str, n: int, operation: str) -> float:
    return cpu_ns(run_ours(name, n, operation, "volatile"))
