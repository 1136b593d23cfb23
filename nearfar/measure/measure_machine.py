"""Measurements of `nearfar machine --measure`: matrix, core to core, joint limits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from nearfar.base.errors import NearfarError
from nearfar.documents import MachineProfile
from nearfar.documents.core import CoreFigures
from nearfar.measure.competing import CompetingCopies, check_pair
from nearfar.measure.core import CoreLacksError, measure_this_core
from nearfar.measure.instrument import InstrumentWatch
from nearfar.measure.joint import JointEffort, measure_joint
from nearfar.measure.matrix import measure_core_to_core, measure_matrix
from nearfar.measure.native import require_native
from nearfar.memories import topology
from nearfar.memories.spec import KINDS, MemorySpec, parse_spec

JOINT_S = 60.0
"""Time for one pair of memories: 9 rounds of all splits of 32 threads; with more, fewer rounds."""

Progress = Callable[[str, float], None]
Pair = tuple[MemorySpec, MemorySpec]


def parse_pair(text: str) -> Pair:
    """Parse ``dram,node:1``, or with options ``dram,pages=4k,file:/mnt/pmem0``."""
    heads = "|".join(KINDS)
    split = re.fullmatch(rf"(.+?),((?:{heads})(?:[:,].*)?)", text, re.DOTALL)
    if split is None:
        raise NearfarError(
            f"--joint {text!r}: expected two memories with a comma between, such as dram,node:1 or "
            "dram,file:/mnt/pmem0"
        )
    return parse_spec(split[1]), parse_spec(split[2])


def measure_machine(
    machine: MachineProfile,
    joint: Sequence[Pair] = (),
    progress: Progress = lambda _what, _share: None,
) -> list[str]:
    """Measure into `machine`: nodes, CPU to CPU, the core, joint limits.

    That takes about 3 s a pair of nodes, 30 s, 40 s, and 60 s a pair of memories. Returns warnings:
    what was left out, and what disturbed the measurement. `machine` does not change if it is
    interrupted.
    """
    require_native()
    here = topology.detect()
    for pair in joint:
        # Refuse missing memories before the first minute has passed.
        check_pair(*pair, here)
    watch = InstrumentWatch(here.cpus)
    stages = 3 + len(joint)

    def stage(number: int) -> Progress:
        def tell(what: str, share: float) -> None:
            watch.round(int((number + share) * 10))  # ten checks of the clock a stage
            progress(what, (number + share) / stages)

        return tell

    limits = []
    for number, (a, b) in enumerate(joint):
        copier = CompetingCopies(a, b, here)
        limits.append(
            measure_joint(
                copier,
                (str(a), str(b)),
                JointEffort(JOINT_S),
                one_memory=copier.one_memory,
                progress=stage(number),
            )
        )
        del copier  # its buffers, before the next are taken
    matrix, of_nodes = measure_matrix(machine.nodes, stage(len(joint)))
    cores, of_cores = measure_core_to_core(sorted(os.sched_getaffinity(0)), stage(len(joint) + 1))
    core, of_core = _core(machine, stage(len(joint) + 2))
    machine.matrix, machine.core_to_core, machine.joint_limits = matrix, cores, limits
    machine.core = core
    warnings = [verdict.warning for verdict in watch.verdicts() if verdict.warning]
    return [*of_nodes, *of_cores, *of_core, *warnings]


def _core(machine: MachineProfile, progress: Progress) -> tuple[CoreFigures | None, list[str]]:
    try:
        return measure_this_core(machine, progress), []
    except CoreLacksError as error:
        return None, [f"the core was not measured: {error}"]
