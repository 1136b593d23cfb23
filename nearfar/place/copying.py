"""What moving data between memories takes."""

from __future__ import annotations

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents import MachineProfile
from nearfar.documents.machine import JointLimit
from nearfar.place.problem import Problem
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.traffic import Array


def copy_ns_per_byte(
    problem: Problem, machine: MachineProfile | None = None, gb_per_s: float | None = None
) -> Array:
    """Return ns per byte moved, shape (from, to).

    `gb_per_s` as given; else as the machine measured copies between the two memories by one
    thread; else one core's reading of a line in sequence and then its writing at the memory's
    bandwidth, one after the other: no kernel that moves pages is faster.
    """
    memories = problem.memories
    found = np.zeros((len(memories), len(memories)))
    for i, source in enumerate(memories):
        for j, target in enumerate(memories):
            if i == j:
                continue
            if gb_per_s is not None:
                found[i, j] = 1.0 / gb_per_s
                continue
            measured = _measured(machine, source, target)
            by_figures = (source.core_stream_ns + target.write_ns[1]) / LINE_BYTES
            found[i, j] = 1.0 / measured if measured is not None else by_figures
    return found


def _measured(
    machine: MachineProfile | None, source: MemoryCosts, target: MemoryCosts
) -> float | None:
    """Return GB/s of data that one thread copied from one memory to the other beside others."""
    for limit in machine.joint_limits if machine is not None else []:
        for first, second, copy in ((source, target, "A->B"), (target, source, "B->A")):
            if _is(first, limit.memories[0]) and _is(second, limit.memories[1]):
                return _of_one_thread(limit, copy)
    return None


def _of_one_thread(limit: JointLimit, copy: str) -> float | None:
    rates = [
        split.gb_per_s[1] for split in limit.splits if split.copies[1] == copy
        and split.threads[1] == 1
    ]  # fmt: skip
    # Payload counts what is read and what is written: half of it is data moved.
    return max(rates) / 2 if rates and max(rates) > 0 else None


def _is(memory: MemoryCosts, named: str) -> bool:
    measured = memory.device.measured
    return named in (memory.device.name, measured.memory_spec if measured else None)
