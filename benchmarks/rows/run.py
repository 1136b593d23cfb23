"""Overhead of `nearfar run` where all or some objects are near, and its recognition rate.

The peer is the same program under the same allocator, jemalloc, preloaded as Debian ships it. Both
run in turns; CPU time is the program's own, without the verb's. Where all objects are near, the two
do the same work, so noise decides which one is faster: such a row holds if the 95 % interval of
their ratio reaches 1, and the ratio itself is no more than noise explains.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import truediv
from pathlib import Path

from benchmarks import Row, alternate, make_row, paired_ratio
from benchmarks.run_programs import (
    FOLDER,
    Real,
    all_far_plan,
    all_near_plan,
    loaded_redis,
    redis,
    sqlite,
)
from nearfar.base.statistics import median_estimate
from nearfar.documents import Plan, RunRecord, load, producer
from nearfar.documents.plan import Placement, PlanMemory, Prices
from nearfar.documents.workload import Frame
from nearfar.native_files import include_folder
from nearfar.run.launch import run_environment
from nearfar.run.local_memories import resolve_memories
from nearfar.run.targets import make_targets

SECONDS = 390

REPETITIONS = 7
"""Pairs of neighbours in time."""
MOST_CPU_TIME = 1.0
"""Maximum CPU time relative to the same allocator's; the interval must reach it."""
MOST_WITH_NOISE = 1.03
"""Maximum of the ratio itself."""
MOST_FAR = 1.2
"""Maximum CPU time where some objects are far."""
MOST_MEMORY = 1.02
"""Maximum peak memory relative to the same allocator's."""
LEAST_RECOGNISED = 0.95
HEAVY_ROUNDS = "64"
"""More than a second: querying some stacks at the start is then negligible."""
COMMAND = "make benchmarks ONLY=run"

JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def rows() -> Iterator[Row]:
    """Yield overhead and recognition of three programs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not JEMALLOC.exists():
        print(f"run: no row, since {JEMALLOC} is not there")
        return
    heavy = _child([str(build_heavy()), HEAVY_ROUNDS])
    yield from _overhead("an allocation-heavy program", heavy_plan("near"), heavy)
    yield from _far_cost(heavy)
    for make, driven in ((sqlite, _sqlite), (redis, _redis)):
        try:
            program = make()
        except Exception as error:  # a program that cannot be built has no row
            print(f"run: no row of {make.__name__}: {error}")
            continue
        plan = load(all_near_plan(program), Plan)
        yield from _overhead(program.name, plan, driven(program))
        yield from _recognised(program)


def _far_cost(heavy: Measured) -> Iterator[Row]:
    """Yield the cost where one of two objects is far: far is the same node here."""
    for far in range(2):
        plan = heavy_plan("near")
        plan.placements[far].memory = "far"
        name = f"an allocation-heavy program with {plan.placements[far].name} far"
        yield next(_overhead(name, plan, heavy, maps=["far=node:0"]))


Measured = Callable[[Mapping[str, str]], tuple[float, float]]
"""Runs a program in an environment; returns its CPU time in s and its peak memory in bytes."""


def _overhead(
    name: str, plan: Plan, measured: Measured, *, maps: Sequence[str] = ()
) -> Iterator[Row]:
    places = resolve_memories(plan, list(maps))
    targets = make_targets(plan, places, adapt=False)
    with run_environment(plan, places, targets) as served:
        ours, peers = served.variables(os.environ), {**os.environ, "LD_PRELOAD": str(JEMALLOC)}
        measured(ours)  # the call stacks are queried once
        samples = alternate(
            [lambda: measured(ours), lambda: measured(peers), lambda: measured(peers)],  # type: ignore[list-item,return-value]
            REPETITIONS,
        )
        if not served.server.seen.pids:
            raise RuntimeError("the library was not loaded: there is nothing to measure")
    (our_s, our_bytes), (peer_s, peer_bytes), (again_s, _) = (
        tuple([sample[part] for sample in row] for part in range(2))  # type: ignore[index]
        for row in samples
    )
    peer = statistics.median(peer_s)
    ratio = median_estimate(list(map(truediv, our_s, peer_s)))
    row = make_row(
        f"CPU time of {name} under {'a' if maps else 'an all-near'} plan",
        peer * ratio.value,
        "s",
        bar=MOST_FAR if maps else MOST_WITH_NOISE,
        judge="ratio",
        peer="jemalloc preloaded",
        peer_value=peer,
        command=COMMAND,
        note=f"ratio of {len(our_s)} pairs {ratio.value:.3f}, 95 %: {ratio.low:.3f} to "
        f"{ratio.high:.3f}; jemalloc against itself {paired_ratio(again_s, peer_s):.3f}",
    )
    if not maps:
        row.bar += f", its interval from <= {MOST_CPU_TIME:g}"
        row.holds &= ratio.low <= MOST_CPU_TIME
    yield row
    peer = statistics.median(peer_bytes)
    yield make_row(
        f"peak memory of {name} under an all-near plan",
        statistics.median(our_bytes),
        "B",
        bar=MOST_MEMORY,
        judge="ratio",
        peer="jemalloc preloaded",
        peer_value=peer,
        command=COMMAND,
    )


def _recognised(program: Real) -> Iterator[Row]:
    """Run the plain build, all far, with debug information and with symbols only."""
    plan = all_far_plan(program)
    stripped = FOLDER / f"{program.name}-symbols"
    subprocess.run(["strip", "-g", "-o", str(stripped), str(program.plain)], check=True)
    for what, executable in (("with -g", program.plain), ("with symbols only", stripped)):
        record = FOLDER / "record.json"
        options = [] if program.driver is None else ["--driver", program.driver]
        subprocess.run(
            [sys.executable, "-m", "nearfar", "run", str(plan), "--map", "far=file:/dev/shm", "-q",
             "-o", str(record), *options, "--", str(executable), *program.arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        seen = load(record, RunRecord)
        yield make_row(
            f"of {program.name}'s profile recognised in cc -O2, {what}",
            seen.recognised_share_of_profile or 0.0,
            "of bytes",
            bar=LEAST_RECOGNISED,
            at_most=False,
            peer="",
            command=COMMAND,
        )
        landed = [each for each in seen.objects if each.on_plan is not None]
        there = sum(sum(each.bytes_by_memory.values()) for each in landed)
        right = sum((each.on_plan or 0) * sum(each.bytes_by_memory.values()) for each in landed)
        yield make_row(
            f"of {program.name}'s far pages where the plan says, {what}",
            right / there if there else 0.0,
            "of bytes",
            bar=0.99,
            at_most=False,
            peer="",
            command=COMMAND,
        )


def build_heavy() -> Path:
    """Compile the allocation-heavy program; return the executable."""
    program = FOLDER / "heavy"
    source = Path(__file__).parent / "run_heavy.c"
    include = f"-I{include_folder()}"
    subprocess.run(["cc", "-O2", "-g", include, str(source), "-o", str(program)], check=True)
    return program


def heavy_plan(memory: str, functions: Sequence[str] = ("build", "strings")) -> Plan:
    """Return a hand-made plan of the allocations of these functions."""
    from nearfar.base.estimate import Estimate

    nothing = Estimate(0.0, 0.0, 0.0)
    placements = [
        Placement(object=number, name=name, size_bytes=8 << 20, memory=memory,
                  added_ns_if_far=nothing, kind="heap", frames=[Frame(function=name)])
        for number, name in enumerate(functions)
    ]  # fmt: skip
    return Plan(
        producer=producer(), profile="", near="dram", far="dram", phase="total",
        budget_bytes=16 << 20, footprint_bytes=16 << 20, placements=placements, alternatives=[],
        frontier=[], prices=Prices(), proven_gap=None,
        memories=[PlanMemory(name="near", device="dram"), PlanMemory(name="far", device="far")],
    )  # fmt: skip


def _sqlite(program: Real) -> Measured:
    return _child([str(program.plain), *program.arguments])


_STARTER = """
import json, os, sys
command, environment = json.load(sys.stdin)
nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
process = os.posix_spawn(command[0], command, environment, file_actions=nothing)
_, status, used = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""Starts the program from a small process: a program's peak memory begins with its starter's."""


def _child(command: list[str]) -> Measured:
    def measured(environment: Mapping[str, str]) -> tuple[float, float]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _STARTER], stdout=subprocess.PIPE, text=True,
            input=json.dumps([command, dict(environment)]), check=True,
        )  # fmt: skip
        status, cpu_s, peak_kib = map(float, done.stdout.split())
        if status != 0:
            raise RuntimeError(f"{command[0]} ended with {status:.0f}")
        return cpu_s, peak_kib * 1024.0

    return measured


def _cpu_s(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def _redis(program: Real) -> Measured:
    from drive_redis import GET  # type: ignore[import-not-found]

    def measured(environment: Mapping[str, str]) -> tuple[float, float]:
        with loaded_redis(program, environment, 200_000) as (process, client):
            hits = client.script(GET, 200_000, 200_000)
            process.terminate()
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
        if hits != 200_000:
            raise RuntimeError(f"{hits} of 200000 GETs found their key")
        return _cpu_s(used), used.ru_maxrss * 1024.0

    return measured
