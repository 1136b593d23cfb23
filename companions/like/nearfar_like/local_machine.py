"""The machine as the tools see it: nodes, cores, nominal clock, and what fits in its memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.machine.nodes import read_nodes
from nearfar.machine.persistent_memory import read_persistent_memory
from nearfar.machine.sysfs import Tree
from nearfar.measure.memory_mode import cache_bytes
from nearfar_like.bench import BufferPlace, Chase, NodeFacts, Worker

MAX_FREE_SHARE = 0.9
"""Share of free memory that buffers may use: above it the kernel would swap or kill. A chase also
needs 4 bytes for each 64-byte line of its buffer."""


def nodes(root: Path = Path("/"), allowed: set[int] | None = None) -> list[NodeFacts]:
    """Return the nodes with the CPUs this process may use."""
    allowed = allowed or os.sched_getaffinity(0)
    return [
        NodeFacts(
            node.id,
            tuple(sorted(set(node.cpus) & allowed)),
            node.memory_bytes,
            node.free_bytes,
            cache_bytes(node.id, root) or None,
        )
        for node in read_nodes(Tree(root), sorted(allowed))
    ]


def has_numa() -> bool:
    """Return whether the kernel has nodes to place memory on."""
    return bool(Tree(Path("/")).cpu_list("sys/devices/system/node/online"))


def one_per_core(cpus: Iterable[int], root: Path = Path("/")) -> tuple[int, ...]:
    """Return the first CPU of each core."""
    tree = Tree(root)
    cores: dict[frozenset[int], int] = {}
    for cpu in cpus:
        siblings = tree.cpu_list(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(frozenset(siblings or [cpu]), cpu)
    return tuple(cores.values())


def nominal_ghz(root: Path = Path("/")) -> float:
    """Return the time-stamp counter's clock (x86) or the highest clock, GHz; 1.0 if unknown."""
    tree = Tree(root)
    info = tree.table("proc/cpuinfo")
    if named := re.search(r"@ ([0-9.]+)GHz", info.get("model name", "")):
        return float(named[1])
    # On x86, bogomips is twice the time-stamp counter's MHz; elsewhere it is a slow timer's.
    if "flags" in info and (bogomips := info.get("bogomips")):
        return float(bogomips) / 2000
    khz = tree.number("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return khz / 1e6 if khz else 1.0


def default_pages(root: Path = Path("/")) -> str:
    """Return the pages that programs get by default on this machine: thp or 4k."""
    chosen = Tree(root).text("sys/kernel/mm/transparent_hugepage/enabled") or ""
    return "thp" if "[always]" in chosen else "4k"


def home_node(place: BufferPlace, cpu: int, all_nodes: list[NodeFacts]) -> int:
    """Return the node of a place: the named one, else the CPU's, else the first with memory."""
    if place.node is not None:
        return place.node
    own = next(node for node in all_nodes if cpu in node.cpus)
    if own.memory_bytes:
        return own.id
    return next(node.id for node in all_nodes if node.memory_bytes)


def app_direct_hint(root: Path = Path("/")) -> str:
    """Return a hint if persistent memory is in App Direct mode, so that no node includes it."""
    modes = ("fsdax", "devdax", "raw", "sector")
    if any(device.mode in modes for device in read_persistent_memory(Tree(root))):
        return "; persistent memory here is in App Direct mode and not part of it: use -J FOLDER"
    return ""


def check_free_memory(
    chase: Chase | None,
    workers: list[Worker],
    all_nodes: list[NodeFacts],
    available_bytes: int,
    hint: str = "",
) -> None:
    """Refuse buffers beyond free memory of a node or the machine; `hint` ends the message."""
    if len(all_nodes) > 1:
        hint = f"; a thread has one node's memory, not that of all {len(all_nodes)}{hint}"
    sizes_by_node: dict[int, list[int]] = {}
    counted_shared: set[tuple[BufferPlace, int]] = set()
    for thread in (chase, *workers):
        if thread is None or thread.place.folder is not None:
            continue
        if isinstance(thread, Worker) and thread.shared:
            if (thread.place, thread.size_bytes) in counted_shared:
                continue
            counted_shared.add((thread.place, thread.size_bytes))
        sizes_by_node.setdefault(node_of_buffer(thread, all_nodes), []).append(thread.size_bytes)
    for number, sizes in sizes_by_node.items():
        node = next(node for node in all_nodes if node.id == number)
        _check_fit(sizes, f"node {number}", node.memory_bytes, node.free_bytes, hint)
    all_sizes = [size for sizes in sizes_by_node.values() for size in sizes]
    if all_sizes:
        total = sum(node.memory_bytes for node in all_nodes)
        _check_fit(all_sizes, "this machine", total, available_bytes, hint)


def _check_fit(sizes: list[int], where: str, memory_bytes: int, free_bytes: int, hint: str) -> None:
    usable = int(min(memory_bytes, free_bytes) * MAX_FREE_SHARE)
    if sum(sizes) <= usable:
        return
    each = "a buffer" if len(sizes) == 1 else f"{len(sizes)} buffers"
    max_mib = usable // len(sizes) >> 20
    raise NearfarError(
        f"{each} of {format_bytes(max(sizes))} do not fit on {where}: it has "
        f"{format_bytes(memory_bytes)}, of which {format_bytes(free_bytes)} are free; use "
        + (f"-b{max_mib}m or less" if max_mib else "another node, or free memory")
        + hint,
        ExitCode.MACHINE_LACKS,
    )


def node_of_buffer(thread: Chase | Worker, all_nodes: list[NodeFacts]) -> int:
    """Return the node of the thread's buffer, which may be allocated from another CPU."""
    cpu = thread.home_cpu if thread.home_cpu is not None else thread.cpu
    return home_node(thread.place, cpu, all_nodes)


def memory_mode_notes(
    chase: Chase | None, workers: list[Worker], all_nodes: list[NodeFacts]
) -> list[str]:
    """Return notes on how buffers compare with memory-side caches (Memory Mode)."""
    notes = []
    for node in all_nodes:
        if not node.cache_bytes:
            continue
        sizes = [
            thread.size_bytes
            for thread in (chase, *workers)
            if thread is not None
            and thread.place.folder is None
            and node_of_buffer(thread, all_nodes) == node.id
        ]
        if not sizes:
            continue
        total, cache = sum(sizes), node.cache_bytes
        cached = format_bytes(cache)
        if total <= cache:
            notes.append(
                f"node {node.id} is behind a memory-side cache of {cached} (Memory Mode): buffers "
                f"of {format_bytes(total)} together fit in it, so this is the cache, which is "
                "DRAM; the memory behind it takes a -b beyond that"
            )
        else:
            notes.append(
                f"node {node.id} is behind a memory-side cache of {cached} (Memory Mode): buffers "
                f"of {format_bytes(total)} together hit it {cache / total:.0%} of the time at most"
            )
    return notes
