"""Runs of nearfar-bench's maps and of their peers, for the rows about maps.

Peers of persistent maps are libpmemobj's example maps, whose sources Debian ships with libpmemobj-
dev; they are built into build/ when they are measured. The same preloaded library takes the counts.
Times are processor time of the timed part.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.turns import Turns, end_verified
from nearfar.base.errors import NearfarError
from nearfar.base.folders import owned_folder
from nearfar_bench.memories import find_memory
from nearfar_bench.native import Mode, WorkloadRun, bench_file, counted, run

EXAMPLES = Path("/usr/share/doc/libpmemobj-dev/examples")
FOLDER = Path("build/benchmarks/maps")
SOURCE = Path(__file__).parent / "rows" / "maps_peer.c"

MAPS = (
    "hash-tx",
    "hash-atomic",
    "hash-robin-hood",
    "b-tree",
    "crit-bit",
    "radix",
    "red-black",
    "skip-list",
)
OPERATIONS = ("insert", "get", "remove")
SEED = 1

MISSING_HEADER = """\
#include <stdint.h>
#include <stdlib.h>
static inline int find_last_set_64(uint64_t v) { return 63 - __builtin_clzll(v); }
#define MIN(a, b) ((a) < (b) ? (a) : (b))
"""
"""The parts of ex_common.h that Debian's examples include but do not ship."""


class PeerLine(msgspec.Struct):
    """Holds the peer's output per operation."""

    operation: str
    cpu_ns_per_operation: float
    transactions: float
    snapshots: float
    flush_calls: float
    lines: float
    fences: float


@functools.cache
def peer() -> Path:
    """Return the peer's program; raise NearfarError without its sources."""
    if not EXAMPLES.is_dir():
        raise NearfarError(f"{EXAMPLES} is not there: libpmemobj-dev ships the example maps")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "ex_common.h").write_text(MISSING_HEADER)
    folders = ["map", "hashmap", "tree_map", "list_map"]
    sources = [EXAMPLES / "map/map.c", *sorted(EXAMPLES.glob("map/map_*.c"))]
    sources += sorted(EXAMPLES.glob("hashmap/hashmap_*.c"))
    sources += [*sorted(EXAMPLES.glob("tree_map/*_map.c")), EXAMPLES / "list_map/skiplist_map.c"]
    program = FOLDER / "maps_peer"
    command = ["cc", "-O2", "-std=gnu11", "-w", f"-I{FOLDER}", f"-I{EXAMPLES}"]
    command += [f"-I{EXAMPLES / name}" for name in folders]
    command += [str(SOURCE), *map(str, sources), "-lpmemobj", "-lpmem", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


@contextmanager
def our_turns(name: str, n: int, memory: str, mode: Mode = "time") -> Iterator[Turns]:
    """Start our map; verify its content on leaving."""
    place = find_memory(memory)
    environment = place.environment()
    if mode == "count":
        environment = counted(environment)
    words = [f"map={name}", f"n={n}", f"seed={SEED}", f"mode={mode}"]
    with place.pool() as where:
        command = [str(bench_file("nearfar-bench")), "turns", "map", *words, *where]
        with Turns(command, environment) as turns:
            yield turns
            end_verified(turns)


@contextmanager
def peer_turns(name: str, n: int, *, count: bool = False) -> Iterator[Turns]:
    """Start the example map `name` on tmpfs."""
    environment = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}
    if count:
        environment = counted(environment)
    with owned_folder("nearfar-maps-", "/dev/shm") as folder:
        command = [str(peer()), name, str(n), str(SEED), f"{folder}/pool"]
        with Turns(command, environment) as turns:
            yield turns


def run_peer(name: str, n: int, *, count: bool = False) -> dict[str, PeerLine]:
    """Run the example map `name` with `n` keys on tmpfs; its lines by operation."""
    with peer_turns(name, n, count=count) as turns:
        return {each: peer_line(turns.turn(each, n)) for each in OPERATIONS}


def peer_line(line: bytes) -> PeerLine:
    """Parse a peer's line."""
    return msgspec.json.decode(line, type=PeerLine)


def run_ours(name: str, n: int, operation: str, memory: str, mode: Mode = "time") -> WorkloadRun:
    """Run our map once in `memory`."""
    arguments = {"map": name, "n": str(n), "operation": operation, "seed": str(SEED)}
    return run("map", arguments, find_memory(memory), mode)


def cpu_ns(line: WorkloadRun) -> float:
    """Return processor time per operation."""
    return line.cpu_ns / line.operations


def counts(line: WorkloadRun) -> dict[str, float]:
    """Return counts per operation under the peer's names."""
    results = {name: value / line.operations for name, value in line.counts.items()}
    return {**results, "lines": results["flushed_lines"] + results["copied_lines"]}


def transaction_ns(with_: str) -> float:
    """Return a transaction's processor time for a changed word and an allocation or a free."""
    line = run("transaction", {"with": with_, "operations": "50000"}, find_memory("tmpfs"), "time")
    return cpu_ns(line)
