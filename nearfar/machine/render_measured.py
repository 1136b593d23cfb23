"""Results of `nearfar machine --measure` as lines of label and text."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.documents import MachineProfile
from nearfar.documents.machine import CoreToCore, JointLimit, MatrixEntry

MOST_PAIRS = 12
"""Pairs of CPUs shown one by one; of more, the nearest, the farthest and the median."""


def measured_sections(machine: MachineProfile) -> Iterator[tuple[str, list[str]]]:
    """Yield label and lines of what was measured; nothing where nothing was."""
    if machine.matrix:
        yield "matrix", [_entry(entry) for entry in machine.matrix]
    if machine.core_to_core:
        yield "core to core", list(_cores(machine.core_to_core))
    if machine.joint_limits:
        yield "together", [_limit(limit) for limit in machine.joint_limits]


def _entry(entry: MatrixEntry) -> str:
    return (
        f"node {entry.cpu_node} to memory of {entry.memory_node}: {entry.latency_ns:.1f} ns "
        f"[{entry.latency_low_ns:.1f}, {entry.latency_high_ns:.1f}], {entry.read_gb_per_s:.1f} "
        f"GB/s [{entry.read_low_gb_per_s:.1f}, {entry.read_high_gb_per_s:.1f}]"
    )


def _cores(pairs: list[CoreToCore]) -> Iterator[str]:
    if len(pairs) <= MOST_PAIRS:
        yield from (_pair(pair) for pair in pairs)
        return
    ordered = sorted(pairs, key=lambda pair: pair.value_ns)
    yield f"nearest: {_pair(ordered[0])}"
    yield f"median of {len(pairs)} pairs: {ordered[len(pairs) // 2].value_ns:.1f} ns"
    yield f"farthest: {_pair(ordered[-1])}"


def _pair(pair: CoreToCore) -> str:
    return (
        f"CPU {pair.cpu} to {pair.other_cpu}: {pair.value_ns:.1f} ns "
        f"[{pair.low_ns:.1f}, {pair.high_ns:.1f}] one way"
    )


def _limit(limit: JointLimit) -> str:
    a, b = limit.memories
    interval = ""
    if limit.low_gb_per_s is not None and limit.high_gb_per_s is not None:
        interval = f" [{limit.low_gb_per_s:.1f}, {limit.high_gb_per_s:.1f}]"
    verdict = "shared" if limit.shared else "not shared"
    return (
        f"{a} and {b}: {verdict}; copies reach {limit.alone_gb_per_s[0]:.1f} and "
        f"{limit.alone_gb_per_s[1]:.1f} GB/s alone, {limit.together_gb_per_s:.1f}{interval} "
        f"together ({limit.note})"
    )
