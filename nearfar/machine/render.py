"""A machine as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from nearfar.base.units import format_bytes, format_count
from nearfar.documents import MachineProfile
from nearfar.documents.machine import Cache, CoreToCore, JointLimit, MatrixEntry, Node
from nearfar.machine.render_core import core_lines
from nearfar.machine.sysfs import format_list

WIDTH = 96
"""Columns of wrapped lines: a terminal of 100 shows them whole."""
LABEL = 14


def render(machine: MachineProfile) -> str:
    """Return the machine as lines of label and text, lacks last."""
    lines: list[str] = []
    for label, texts in _sections(machine):
        for number, text in enumerate(texts):
            head = label if number == 0 else ""
            lines += textwrap.wrap(
                text,
                WIDTH,
                initial_indent=head.ljust(LABEL),
                subsequent_indent=" " * LABEL,
                break_long_words=False,
                break_on_hyphens=False,
            )
    lacks = [ability for ability in machine.abilities if not ability.usable]
    if lacks:
        lines += ["", f"lacks ({len(lacks)})"]
    for lack in lacks:
        lines += textwrap.wrap(
            f"{lack.name}: {lack.detail}",
            WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        if lack.remedy:
            # A command is never wrapped, so that it can be copied.
            lines.append(f"    fix: {lack.remedy}")
    return "\n".join(lines) + "\n"


def _sections(machine: MachineProfile) -> Iterator[tuple[str, list[str]]]:
    yield (
        "cpu",
        [
            f"{machine.cpu_model} ({machine.cpu_id})" if machine.cpu_id else machine.cpu_model,
            f"{machine.architecture}, {format_count(machine.sockets, 'socket')}, "
            f"{format_count(machine.cores, 'core')}, "
            f"{format_count(machine.threads_per_core, 'thread')} each, "
            f"CPUs {format_list(machine.cpus)}",
        ],
    )
    if machine.vector_extensions:
        yield "vectors", [" ".join(machine.vector_extensions)]
    yield "caches", [_cache(cache) for cache in machine.caches] or ["unknown"]
    yield "nodes", [_node(node) for node in machine.nodes]
    if len(machine.nodes) > 1:
        yield "distances", [_distances(node) for node in machine.nodes]
    reserved = [f"{count} of {size}" for size, count in machine.huge_pages.items() if count]
    yield (
        "huge pages",
        [
            f"transparent: {machine.transparent_huge_pages}; reserved: "
            f"{', '.join(reserved) or 'none'}"
        ],
    )
    yield (
        "persistent",
        [
            f"{p.device}: {format_bytes(p.size_bytes)}, {p.mode}"
            + (f", node {p.node}" if p.node is not None else "")
            + (f", mounted at {p.mount}" if p.mount else "")
            + (" with DAX" if p.dax else "")
            for p in machine.persistent_memory
        ]
        or ["none"],
    )
    yield (
        "cxl",
        [
            f"{c.device}: "
            + ", ".join(
                f"{format_bytes(size)} {kind}"
                for size, kind in (
                    (c.volatile_bytes, "volatile"),
                    (c.persistent_bytes, "persistent"),
                )
                if size
            )
            + (f", node {c.node}" if c.node is not None else ", no node")
            for c in machine.cxl
        ]
        or ["none"],
    )
    yield "virtual", [machine.virtualisation]
    yield from measured_sections(machine)
    yield (
        "usable",
        [f"{ability.name}: {ability.detail}" for ability in machine.abilities if ability.usable],
    )


def _cache(cache: Cache) -> str:
    ways = f"{cache.ways} ways" if cache.ways else "ways unknown"
    shared = format_list(cache.shared_by_cpus)
    sharing = (
        f"one for CPUs {shared}"
        if cache.count == 1
        else f"{cache.count} of them, the first of CPUs {shared}"
    )
    return (
        f"L{cache.level} {cache.type}: {format_bytes(cache.size_bytes)}, {ways}, "
        f"lines of {cache.line_bytes} B, {sharing}"
    )


def _node(node: Node) -> str:
    cpus = f"CPUs {format_list(node.cpus)}" if node.cpus else "no CPUs (memory only)"
    memory = format_bytes(node.memory_bytes) if node.memory_bytes else "no memory"
    parts = [f"{node.id}: {memory}", cpus]
    if node.tier is not None:
        parts.append(f"tier {node.tier}")
    if node.memory_side_cache_bytes:
        parts.append(f"memory-side cache of {format_bytes(node.memory_side_cache_bytes)}")
    if node.hmat:
        latency = _read_write(node.hmat.read_latency_ns, node.hmat.write_latency_ns)
        rate = _read_write(node.hmat.read_bandwidth_gb_per_s, node.hmat.write_bandwidth_gb_per_s)
        parts.append(f"HMAT {latency} ns, {rate} GB/s read/write")
    return ", ".join(parts)


def _read_write(read: float | None, write: float | None) -> str:
    return "/".join("?" if value is None else f"{value:g}" for value in (read, write))


def _distances(node: Node) -> str:
    return f"{node.id}: " + " ".join(f"{value:3d}" for value in node.distances.values())


MOST_PAIRS = 12
"""Most pairs of CPUs that are listed; of more pairs, the nearest, farthest and median are shown."""


def measured_sections(machine: MachineProfile) -> Iterator[tuple[str, list[str]]]:
    """Yield label and lines of each part that was measured."""
    if machine.matrix:
        yield "matrix", [_entry(entry) for entry in machine.matrix]
    if machine.core_to_core:
        yield "core to core", list(_cores(machine.core_to_core))
    if machine.joint_limits:
        yield "together", [_limit(limit) for limit in machine.joint_limits]
    if machine.core is not None:
        yield "core", list(core_lines(machine.core))


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
