"""What `nearfar run --adapt` costs beside the same plan without it, and what moving takes.

Where near and far are one node, nothing moves and --adapt would not even look: it is made to, so
that what is measured is the looking (referenced bits, maps, phases) and the calls. The record of a
run says what its own migrations took.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import Row, alternate, make_row, paired_ratio
from benchmarks.rows.run import build_heavy, heavy_plan
from benchmarks.run_programs import FOLDER, all_far_plan, redis
from nearfar.documents import Plan, load
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.profile.launch import Job
from nearfar.run import kernel
from nearfar.run.adapt import Pace
from nearfar.run.api import How, run_plan
from nearfar.run.looking import marking_ns
from nearfar.run.memories import nodes_here

MOST = 1.02
"""Issue 6: never slower than the static plan by more than 2 %."""
REPETITIONS = 5
REGIONS = {"512 KiB": 512 << 10, "2 MiB": 2 << 20, "16 MiB": 16 << 20}
PAGES = {"4 KiB": mmap.MADV_NOHUGEPAGE, "2 MiB": mmap.MADV_HUGEPAGE}
MOVED_BYTES = 256 << 20
MOST_PER_MIB_US = 1000 * (1 << 20) / 1e6
"""The default `--rate` of 1 GB/s leaves so much for a MiB."""
COMMAND = "make benchmarks ONLY=run_adapt"


def rows() -> Iterator[Row]:
    """Yield the cost of adapting for two programs, then of moving by region and page size."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = build_heavy()
    heavy = heavy_plan("far")
    wide = heavy_plan("far", ["wide"])
    yield _compared("an allocation-heavy program", heavy, Job([str(program), "32"]))
    yield _compared("the same in phases", _in_phases(heavy), Job([str(program), "32", "phases"]))
    yield _compared("one that goes through 128 MiB", wide, Job([str(program), "160", "wide"]))
    try:
        server = redis()
    except Exception as error:  # what cannot be built has no row; the others have theirs
        print(f"run_adapt: no row of Redis: {error}")
    else:
        job = Job([str(server.plain), *server.arguments], driver=server.driver)
        yield _compared("Redis", load(all_far_plan(server), Plan), job)
    print(f"run_adapt: a page that was looked at costs the program {marking_ns():.0f} ns here")
    yield from _moving()


def _in_phases(plan: Plan) -> Plan:
    """Have both objects change places as each phase begins."""
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


def _compared(name: str, plan: Plan, job: Job) -> Row:
    def cpu_s(pace: Pace | None) -> Callable[[], float]:
        def run() -> float:
            how = How(mapped=["far=node:0"], force=True, pace=pace, job=job)
            record = run_plan(plan, "", how)
            if not record.exit_status.startswith("exited 0") and "by nearfar" not in (
                record.exit_status
            ):
                raise RuntimeError(f"{name}: {record.exit_status}")
            return record.cpu_time_ns / 1e9

        return run

    looking = Pace(even_on_one_node=True)
    adapted, static, again = alternate([cpu_s(looking), cpu_s(None), cpu_s(None)], REPETITIONS)
    # Not judged by a bar of its own: what the row cannot tell from nothing.
    print(f"run_adapt: {name}: the static plan against itself {paired_ratio(again, static):.3f}")
    peer = float(np.median(static))
    return make_row(
        f"CPU time of {name} with --adapt",
        peer * paired_ratio(adapted, static),
        "s",
        bar=MOST,
        judge="ratio",
        peer="the same plan, static",
        peer_value=peer,
        command=COMMAND,
    )


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
    """Move memory of another process to the last node by regions; with one node only ask."""
    nodes = [node.id for node in nodes_here() if node.memory_bytes]
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
    """Return the seconds that all calls took."""
    seconds = 0.0
    for begin in range(address, address + MOVED_BYTES, region_bytes):
        end = min(begin + region_bytes, address + MOVED_BYTES)
        pages = np.arange(begin, end, 4096, dtype=np.uint64)
        begun = time.perf_counter()
        kernel.move_pages(pid, pages, node)
        seconds += time.perf_counter() - begun
    return seconds
