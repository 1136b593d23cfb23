"""CPU time that a plan with far memory adds to a program's short-lived children."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import Row, alternate, make_row
from benchmarks.rows.run import heavy_plan
from nearfar.run.launch import run_environment
from nearfar.run.local_memories import resolve_memories
from nearfar.run.targets import make_targets

SECONDS = 25
CHILDREN = 200
REPETITIONS = 5
MAX_ADDED_MS = 2.0
COMMAND = "make benchmarks ONLY=run_children"

PROGRAMS: Sequence[Sequence[str]] = (("/bin/true",), (sys.executable, "-S", "-c", "pass"))


def rows() -> Iterator[Row]:
    """Yield the CPU time that a child takes more than without the plan, for two programs."""
    plan = heavy_plan("near")
    plan.placements[0].memory = "far"
    memories = resolve_memories(plan, ["far=node:0"])
    targets = make_targets(plan, memories, adapt=False)
    for program in PROGRAMS:
        with run_environment(plan, memories, targets) as served:
            planned, plain = served.variables(os.environ), dict(os.environ)
            # The first child asks for its stacks, as any new program does once.
            subprocess.run(program, env=planned, check=True)
            with_plan, without = alternate(
                [_child_ms(program, planned), _child_ms(program, plain)], REPETITIONS
            )
        yield make_row(
            f"CPU time that a plan adds to a child, {Path(program[0]).name}",
            statistics.median(a - b for a, b in zip(with_plan, without, strict=True)),
            "ms",
            bar=MAX_ADDED_MS,
            peer="the child without a plan",
            peer_value=statistics.median(without),
            command=COMMAND,
        )


def _child_ms(program: Sequence[str], environment: Mapping[str, str]) -> Callable[[], float]:
    """Return a function that runs the children and returns the CPU time of one, in ms."""

    def run() -> float:
        begin = _cpu_s()
        for _ in range(CHILDREN):
            subprocess.run(program, env=dict(environment), check=True)
        return (_cpu_s() - begin) * 1000 / CHILDREN

    return run


def _cpu_s() -> float:
    """Return the CPU time of this process, where the verb answers, and of its children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
