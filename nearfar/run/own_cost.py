"""CPU time that `nearfar run` itself adds to a program, measured on this machine.

A small program that makes blocks near and far runs with the library and without it, in turns. What
a process and a block cost more is kept in the user's cache for this boot and this library.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.folders import cache_folder
from nearfar.documents import Plan, WorkloadProfile, producer
from nearfar.documents.plan import NEAR, Placement, PlanMemory, Prices, RunCost
from nearfar.documents.workload import Frame
from nearfar.native_files import native_file
from nearfar.program.executable import preloadable
from nearfar.program.named_frames import is_in_arenas
from nearfar.run.launch import LIBRARY, run_environment
from nearfar.run.local_memories import local_nodes, resolve_memories
from nearfar.run.matcher import RECOGNISABLE
from nearfar.run.targets import make_targets

PROGRAM = "nearfar_block_cost"
ROUNDS = 2000
"""Rounds of 64 pairs of malloc and free in a try, which takes a millisecond."""
STARTS = 9
"""Number of pairs of starts; the median is taken, since single pairs differ by 10 %."""


class OwnCost(msgspec.Struct, kw_only=True, frozen=True):
    """CPU time that the library adds, ns; below zero where its allocator is the quicker one."""

    start_ns: float
    """Added to a process that allocates nothing: loading the library and its heaps."""
    near_block_ns: float
    """Added to malloc and free of a near block where others are far."""
    far_block_ns: float


def run_cost(
    plan: Plan, workload: WorkloadProfile, processes: int, saved_ns: float
) -> RunCost | None:
    """Return the cost of the library itself in one process that runs under `plan`.

    `workload` has the plan's object numbers, and the blocks of all `processes` together. None if
    nothing is far, or if the library cannot run here.
    """
    far = {row.object for row in plan.placements if row.kind in RECOGNISABLE and _is_far(row)}
    if not far:
        return None
    try:
        cost = own_cost()
    except (NearfarError, OSError, subprocess.SubprocessError):
        return None  # where the library cannot run, such as below a small ulimit -v
    # The library sees arenas of CPython, not the blocks in them.
    rows = [row for row in workload.objects if row.kind == "heap" and not is_in_arenas(row.split)]
    far_blocks = sum(row.allocations for row in rows if row.id in far) / processes
    near_blocks = sum(row.allocations for row in rows) / processes - far_blocks
    blocks_ns = near_blocks * cost.near_block_ns + far_blocks * cost.far_block_ns
    return RunCost(
        start_ns=cost.start_ns,
        near_block_ns=cost.near_block_ns,
        far_block_ns=cost.far_block_ns,
        near_blocks=near_blocks,
        far_blocks=far_blocks,
        total_ns=cost.start_ns + blocks_ns,
        saved_ns=saved_ns,
    )


def _is_far(row: Placement) -> bool:
    if not row.parts and not row.interleave:
        return row.memory != NEAR
    parts = {part.memory for part in row.parts} | row.interleave.keys()
    return bool(parts - {NEAR})


def own_cost() -> OwnCost:
    """Return the cost on this machine: kept from earlier in this boot, or measured and kept.

    Raise NearfarError, OSError or SubprocessError where the library or the program cannot run.
    """
    library = preloadable(LIBRARY)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    folder = cache_folder("run")
    kept = folder / f"{boot}-{library.stat().st_mtime_ns}.json"
    try:
        return msgspec.json.decode(kept.read_bytes(), type=OwnCost)
    except (OSError, msgspec.MsgspecError):
        pass
    cost = measure_own_cost()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.json"):
            old.unlink()
        kept.write_bytes(msgspec.json.encode(cost))
    except OSError:
        pass  # measured again the next time
    return cost


def measure_own_cost() -> OwnCost:
    """Measure the library's cost, in a fifth of a second."""
    program = str(native_file(PROGRAM))
    plan = _plan()
    memories = resolve_memories(plan, [f"far=node:{local_nodes(Path('/'))[0].id}"])
    targets = make_targets(plan, memories, adapt=False)
    with run_environment(plan, memories, targets) as served:
        plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        planned = served.variables(plain)
        # The first process asks for its stacks.
        _pair_times_ns(program, planned)
        with_library, without = _pair_times_ns(program, planned), _pair_times_ns(program, plain)
        starts = [_start_ns(program, planned) - _start_ns(program, plain) for _ in range(STARTS)]
        if served.server.seen.matched != {0, 1}:
            raise NearfarError(f"the library did not recognise the blocks of {program}")
    near, far = (a - b for a, b in zip(with_library, without, strict=True))
    return OwnCost(start_ns=median(starts), near_block_ns=near, far_block_ns=far)


def _plan() -> Plan:
    """Return a plan of the program's two functions."""
    nothing = Estimate(0.0, 0.0, 0.0)
    return Plan(
        producer=producer(), profile="", near="", far="", phase="total", budget_bytes=1 << 20,
        footprint_bytes=2 << 20, alternatives=[], frontier=[], prices=Prices(), proven_gap=None,
        placements=[
            Placement(object=number, name=name, size_bytes=1 << 20, memory=name, kind="heap",
                      added_ns_if_far=nothing, frames=[Frame(function=f"nearfar_{name}_block")])
            for number, name in enumerate(("near", "far"))
        ],
        memories=[PlanMemory(name=name, device=name) for name in ("near", "far")],
    )  # fmt: skip


def _pair_times_ns(program: str, environment: Mapping[str, str]) -> list[float]:
    words = subprocess.check_output([program, str(ROUNDS)], env=dict(environment), text=True)
    return [float(word) for word in words.split()]


def _start_ns(program: str, environment: Mapping[str, str]) -> float:
    process = subprocess.Popen([program], env=dict(environment))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime) * 1e9
