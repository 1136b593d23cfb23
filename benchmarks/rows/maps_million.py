"""The rows of maps.py at a million keys, ours and the peer's in turns of a tenth of a second.

All inserts are timed, gets and removes as `TURNS` limits. Results are saved by structure until all
are complete, so an interrupted row is resumed.
The example skip list has four levels: a million keys would take hours. Its counts, which depend on
a node's height and not on n, are taken with fewer keys. A node of the example radix tree takes 4
KiB, so a million keys take 5 GB of tmpfs.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks import Row, paired_ratio
from benchmarks.kept import Kept
from benchmarks.map_runs import (
    MAPS,
    OPERATIONS,
    SOURCE,
    counts,
    our_turns,
    peer,
    peer_line,
    peer_turns,
)
from benchmarks.rows.maps import (
    VOLATILE_PEER,
    count_rows,
    shown_only,
    standard,
    time_of,
    time_row,
    volatile_time_of,
)
from benchmarks.turns import Turns
from nearfar.base.errors import NearfarError
from nearfar_bench.native import WorkloadRun, bench_file

SECONDS = 600
LONG = True

N = 1_000_000
OF_A_TURN = N // 10
TURNS = {"insert": 10, "get": 5, "remove": 5}
"""All inserts, so that each table's growth is included; enough of the others for a median, and few
enough that all structures take four minutes."""
FEW = 50_000
TOO_SLOW = ("skip-list",)
ROOM_BYTES = {"radix": 12 << 30}
"""Free memory that the example needs, with the same amount for other programs."""

Counts = dict[str, dict[str, float]]
Times = dict[str, list[list[float]]]
"""Ours and the peer's ns per operation, by operation and turn."""


def rows() -> Iterator[Row]:
    """Yield counts, which load does not disturb; then times."""
    counter = bench_file("libnearfar_bench_count.so")
    kept = Kept("maps_million", [bench_file("nearfar-bench"), counter, SOURCE, Path(__file__)])
    try:
        peer()
    except NearfarError as error:
        print(f"maps_million: no rows of persistent maps: {error}")
    else:
        measured = [name for name in MAPS if has_room(name)]
        for name in measured:
            of_peer = FEW if name in TOO_SLOW else N
            ours, theirs = kept.get(
                f"{name} counts", tuple[Counts, Counts], lambda name=name, n=of_peer: count(name, n)
            )
            text = "example map" if of_peer == N else f"example map of {FEW:,} keys"
            yield from count_rows(name, N, ours, theirs, text)
        for name in measured:
            yield from times(kept, name)
    for name in MAPS:
        if name != "hash-atomic":
            yield from volatile_times(kept, name)
    kept.finish()


def has_room(name: str) -> bool:
    """Return whether the example fits into this machine; report if it does not."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free >= ROOM_BYTES.get(name, 0):
        return True
    print(f"maps_million: the example {name} has no room for {N:,} keys here")
    return False


def count(name: str, n_of_peer: int) -> tuple[Counts, Counts]:
    """Count the persist operations of all inserts and a turn of gets and removes, for both."""

    def ours() -> Counts:
        with our_turns(name, N, "tmpfs", "count") as turns:
            lines = {each: turns.turn(each, n) for each, n in counted(N).items()}
        return {each: counts(line_of(line)) for each, line in lines.items()}

    def theirs() -> Counts:
        with peer_turns(name, n_of_peer, count=True) as turns:
            lines = {each: turns.turn(each, n) for each, n in counted(n_of_peer).items()}
        return {each: msgspec.structs.asdict(peer_line(line)) for each, line in lines.items()}

    with ThreadPoolExecutor() as both:
        first, other = both.submit(ours), both.submit(theirs)
        return first.result(), other.result()


def counted(n: int) -> dict[str, int]:
    """Return the number of counted operations of each kind."""
    few = min(n, OF_A_TURN)
    return {"insert": n, "get": few, "remove": few}


def line_of(answer: bytes) -> WorkloadRun:
    """Parse our line of a turn."""
    # The content is verified as a whole at the end.
    return msgspec.convert({"verified": [], **msgspec.json.decode(answer)}, type=WorkloadRun)


def times(kept: Kept, name: str) -> Iterator[Row]:
    """Yield a persistent map's times next to the example's."""

    def alone() -> Times:
        with our_turns(name, N, "tmpfs") as ours:
            return timed([ours])

    def beside() -> Times:
        with our_turns(name, N, "tmpfs") as ours, peer_turns(name, N) as theirs:
            return timed([ours, theirs])

    if name in TOO_SLOW:
        for operation, (ns,) in kept.get(f"{name} times", Times, alone).items():
            yield shown_only(
                time_of(name, N, operation),
                statistics.mean(ns),
                "ns",
                peer="none: the example would take hours",
            )
        return
    result = kept.get(f"{name} times", Times, beside)
    for operation in OPERATIONS:
        ns, ratio = compared(result, operation)
        yield time_row(time_of(name, N, operation), ns, ratio, "example map")


def volatile_times(kept: Kept, name: str) -> Iterator[Row]:
    """Yield a volatile map's times next to the standard's."""
    other = VOLATILE_PEER.get(name, "std-map")

    def beside() -> Times:
        with our_turns(name, N, "volatile") as ours, our_turns(other, N, "volatile") as theirs:
            return timed([ours, theirs])

    result = kept.get(f"{name} volatile times", Times, beside)
    for operation in OPERATIONS:
        ns, ratio = compared(result, operation)
        yield time_row(volatile_time_of(name, N, operation), ns, ratio, standard(other))


def timed(programs: list[Turns]) -> Times:
    """Return ns per operation of each program's turns."""
    results: Times = {}
    for operation, turns in TURNS.items():
        results[operation] = [[] for _ in programs]
        for _ in range(turns):
            for ns, program in zip(results[operation], programs, strict=True):
                ns.append(cpu_ns(program.turn(operation, OF_A_TURN)))
    return results


def cpu_ns(answer: bytes) -> float:
    """Return processor ns per operation of a turn, ours or the peer's."""
    line: dict[str, float] = msgspec.json.decode(answer)
    if "cpu_ns_per_operation" in line:
        return line["cpu_ns_per_operation"]
    return line["cpu_ns"] / line["operations"]


def compared(found: Times, operation: str) -> tuple[float, float]:
    """Return our ns per operation, and its ratio to the peer's."""
    ours, theirs = found[operation]
    if operation == "insert":  # tables grow in different turns, so only sums compare
        return statistics.mean(ours), sum(ours) / sum(theirs)
    return statistics.median(ours), paired_ratio(ours, theirs)
