"""Overhead of `nearfar run --adapt` over the same plan without it, and the cost of moves.

Four processes of a program live at once and take turns, in blocks of random order: one is adapted,
one has the targets of movable objects without an adapter, two have the static plan: their ratio
shows the resolution. The adapter works in its program's turns only, so that its work slows that
program. CPU time is judged; wall time is printed.
Where near and far are one node, --adapt would stay idle: the benchmark forces it. Nothing moves
then, and no call requests a move, because all pages are in their place. The programs thus show the
cost of sampling (referenced bits, maps, phases), of queries and of the targets; the calls are
measured separately, on another process' memory. The record of a run lists its own migrations' time.
"""

from __future__ import annotations

import mmap
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import numpy as np

from benchmarks import Row, make_row
from benchmarks.blocks import Arm, Blocks, ratio, take_blocks
from benchmarks.rows.run import build_heavy, heavy_plan
from benchmarks.run_programs import FOLDER, Real, all_far_plan, loaded_redis, redis
from benchmarks.turns import Turns
from nearfar.base.estimate import Estimate
from nearfar.documents import Plan, load
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.documents.run_record import Migration
from nearfar.program.control import RUN_FOLDER_VARIABLE
from nearfar.run import process_memory
from nearfar.run.adapt import Adapter, Pace
from nearfar.run.launch import RunEnvironment, run_environment
from nearfar.run.local_memories import LocalMemory, local_nodes, resolve_memories
from nearfar.run.sample_budget import SampleBudget, accessed_bit_ns
from nearfar.run.targets import Targets, make_targets

SECONDS = 180
LONG = True

MOST = 1.02
"""At most 2 % slower than the static plan."""
STATIC = ("static", "static again")
KEYS = 100_000
"""Keys of each Redis server: some tens of MiB."""
REGIONS = {"512 KiB": 512 << 10, "2 MiB": 2 << 20, "16 MiB": 16 << 20}
PAGES = {"4 KiB": mmap.MADV_NOHUGEPAGE, "2 MiB": mmap.MADV_HUGEPAGE}
MOVED_BYTES = 256 << 20
MOST_PER_MIB_US = 1000 * (1 << 20) / 1e6
"""Time per MiB at the default `--rate` of 1 GB/s."""
COMMAND = "make benchmarks ONLY=run_adapt"

Start = Callable[[Mapping[str, str]], AbstractContextManager[Arm]]
"""Starts a program in an environment."""


def rows() -> Iterator[Row]:
    """Yield the cost of adapting for four programs, then of moving by region and page size."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = str(build_heavy())
    heavy, both = heavy_plan("far"), ("trees", "strings")
    in_turns, in_phases = (partial(_heavy, [program, "turns", *more]) for more in ([], ["phases"]))
    mark_ns = accessed_bit_ns()
    print(f"run_adapt: a page that was looked at costs the program {mark_ns:.0f} ns here")
    yield _compared("an allocation-heavy program", heavy, in_turns, both, mark_ns)
    yield _compared("the same in phases", _in_phases(heavy), in_phases, both, mark_ns)
    wide = heavy_plan("far", ["wide"])
    yield _compared("one that goes through 128 MiB", wide, in_turns, ["wide"], mark_ns)
    try:
        server = redis()
    except Exception as error:  # a program that cannot be built has no row
        print(f"run_adapt: no row of Redis: {error}")
    else:
        plan = load(all_far_plan(server), Plan)
        yield _compared("Redis", plan, partial(_redis, server), ["get"], mark_ns)
    yield from _moving()


def _in_phases(plan: Plan) -> Plan:
    """Exchange both objects at the start of each phase."""
    plan.phases = [
        PhasePlacements(
            phase=phase,
            moves=[
                Move(object=number, source="far" if memory == "near" else "near", memory=memory,
                     bytes=8 << 20, cost_ns=0)
                for number, memory in enumerate(memories)
            ],
        )
        for phase, memories in (("trees", ("near", "far")), ("strings", ("far", "near")))
    ]  # fmt: skip
    return plan


def _compared(
    name: str, plan: Plan, start: Start, operations: Sequence[str], mark_ns: float
) -> Row:
    places = resolve_memories(plan, ["far=node:0"])
    # One budget for all lives: it is a share of the time of all.
    samples = SampleBudget(mark_ns)
    done: list[Migration] = []
    static = partial(_alone, plan, places, start, own_targets=False)
    arms = {
        "adapted": partial(_adapted, plan, places, start, samples, done),
        "own targets": partial(_alone, plan, places, start, own_targets=True),
        **dict.fromkeys(STATIC, static),
    }
    taken = take_blocks(arms, operations)
    if not (done if plan.phases else samples.spent_ns):
        raise RuntimeError(f"{name}: nothing was adapted, so there is nothing to measure")
    blocks = sum(map(len, taken.cpu_ns["adapted"]))
    print(
        f"run_adapt: {name}: {blocks} blocks, {len(done)} changes of place, "
        f"{samples.spent_ns / 1e6:.0f} ms of sampling as charged"
    )
    for what, times in (("CPU", taken.cpu_ns), ("wall", taken.wall_ns)):
        print(
            f"  {what} time over the static plan's (95 %): adapted "
            f"{_told(ratio(times, 'adapted', STATIC))}, its targets without an adapter "
            f"{_told(ratio(times, 'own targets', STATIC))}, the static plan against itself "
            f"{_told(ratio(times, STATIC[1], STATIC[:1]))}"
        )
    return _row(name, taken)


def _row(name: str, taken: Blocks) -> Row:
    cost = ratio(taken.cpu_ns, "adapted", STATIC)
    alike = [ns for arm in STATIC for life in taken.cpu_ns[arm] for ns in life]
    peer = statistics.median(alike) / 1e9
    return make_row(
        f"CPU time of {name} with --adapt",
        peer * cost.value,
        "s",
        bar=MOST,
        judge="ratio",
        peer=f"the same plan, static ({cost.low:.3f} to {cost.high:.3f} x)",
        peer_value=peer,
        command=COMMAND,
    )


def _told(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


@contextmanager
def _adapted(
    plan: Plan,
    places: Sequence[LocalMemory],
    start: Start,
    samples: SampleBudget,
    done: list[Migration],
) -> Iterator[Arm]:
    """Start the program with an adapter that works during the program's turns."""
    turn = threading.Event()
    with _served(plan, places, start, own_targets=True) as (served, targets, arm):
        adapter = Adapter(
            plan, places, targets, control=served.control, folder=served.folder, pace=Pace(),
            samples=samples,
        )  # fmt: skip

        def work(operation: str, count: int) -> None:
            turn.set()
            try:
                arm.work(operation, count)
            finally:
                turn.clear()

        adapter.start(lambda: served.server.placed_processes() if turn.is_set() else {})
        try:
            yield Arm(arm.pid, work)
        finally:
            adapter.close()
            done.extend(adapter.done)


@contextmanager
def _alone(
    plan: Plan, places: Sequence[LocalMemory], start: Start, *, own_targets: bool
) -> Iterator[Arm]:
    with _served(plan, places, start, own_targets=own_targets) as (_, _, arm):
        yield arm


@contextmanager
def _served(
    plan: Plan, places: Sequence[LocalMemory], start: Start, *, own_targets: bool
) -> Iterator[tuple[RunEnvironment, Targets, Arm]]:
    targets = make_targets(plan, places, adapt=own_targets)
    with run_environment(plan, places, targets) as served:
        environment = served.variables(os.environ)
        with start({**environment, RUN_FOLDER_VARIABLE: str(served.folder)}) as arm:
            served.control.start(arm.pid)
            yield served, targets, arm
            if arm.pid not in served.server.seen.pids:
                raise RuntimeError("the library was not loaded: there is nothing to measure")


@contextmanager
def _heavy(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Arm]:
    with Turns(command, environment) as turns:
        yield Arm(turns.pid, turns.turn)
        # It checks its sums, and fails if one is wrong.
        turns.end()


@contextmanager
def _redis(server: Real, environment: Mapping[str, str]) -> Iterator[Arm]:
    from drive_redis import GET  # type: ignore[import-not-found]

    with loaded_redis(server, environment, KEYS) as (process, client):
        done = 0

        def get(_: str, count: int) -> None:
            nonlocal done
            hits = int(client.call("EVAL", GET, 0, done, done + count - 1, KEYS))
            done += count
            if hits != count:
                raise RuntimeError(f"{hits} of {count} GETs found their key")

        yield Arm(process.pid, get)


_HOLDER = """
import ctypes, mmap, sys
size, advice = int(sys.argv[1]), int(sys.argv[2])
held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(advice)
for at in range(0, size, 4096):
    held[at] = 1
print(ctypes.addressof(ctypes.c_char.from_buffer(held)), flush=True)
sys.stdin.read()
"""


def _moving() -> Iterator[Row]:
    """Move memory of another process to the last node by regions; with one node only query."""
    nodes = [node.id for node in local_nodes() if node.memory_bytes]
    what = "moving" if len(nodes) > 1 else "calls that move nothing (one node)"
    for pages, advice in PAGES.items():
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(MOVED_BYTES), str(advice)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert holder.stdout is not None
            address = int(holder.stdout.readline())
            for turn, (region, size) in enumerate(REGIONS.items()):
                to = nodes[-1] if turn % 2 == 0 else nodes[0]
                seconds = _move(holder.pid, address, size, to)
                yield make_row(
                    f"{what}, regions of {region}, pages of {pages}",
                    seconds * 1e6 / (MOVED_BYTES >> 20),
                    "us per MiB",
                    bar=MOST_PER_MIB_US,
                    peer="",
                    command=COMMAND,
                )
        finally:
            holder.communicate()


def _move(pid: int, address: int, region_bytes: int, node: int) -> float:
    """Return the seconds of all calls."""
    seconds = 0.0
    for begin in range(address, address + MOVED_BYTES, region_bytes):
        end = min(begin + region_bytes, address + MOVED_BYTES)
        pages = np.arange(begin, end, 4096, dtype=np.uint64)
        begun = time.perf_counter()
        process_memory.move_pages(pid, pages, node)
        seconds += time.perf_counter() - begun
    return seconds
