"""The local memories for a plan's memories, from `--map` and the plan, checked before the run."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, nearest
from nearfar.base.units import format_bytes
from nearfar.documents.machine import Node
from nearfar.documents.plan import Placement, Plan, PlanMemory
from nearfar.machine.nodes import read_nodes
from nearfar.machine.sysfs import Tree
from nearfar.memories.spec import PAGED, MemorySpec, parse_spec
from nearfar.run import layout, process_memory
from nearfar.run.matcher import RECOGNISABLE
from nearfar.run.policies import BIND, DEFAULT, INTERLEAVE, WEIGHTED_INTERLEAVE


def local_nodes(root: Path = Path("/")) -> list[Node]:
    """Return the machine's memory nodes; one of all CPUs where the kernel knows none."""
    return read_nodes(Tree(root), sorted(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class LocalMemory:
    """One memory of the plan, with the local memory that is used for it."""

    name: str
    device: str
    spec: MemorySpec
    capacity_bytes: int = 0
    """Capacity in the plan; 0: no limit."""
    size_bytes: int = 0
    """Size of a DAX device."""
    locked: bool = False
    """Whether its pages are locked."""

    @property
    def kind(self) -> int:
        """Kind of memory in the library's table."""
        kinds = {"node": layout.NODE, "file": layout.FILE, "devdax": layout.DEVICE}
        if self.locked:
            return layout.LOCKED
        return (
            layout.PAGED if self.spec.kind in PAGED else kinds.get(self.spec.kind, layout.DEFAULT)
        )


def plan_memories(plan: Plan) -> list[PlanMemory]:
    """Return the plan's memories; for a plan of an earlier version, near and far."""
    return plan.memories or [
        PlanMemory(name="near", device=plan.near),
        PlanMemory(name="far", device=plan.far),
    ]


def resolve_memories(
    plan: Plan, mapped: Sequence[str], root: Path = Path("/")
) -> list[LocalMemory]:
    """Return the memories that the plan uses, near first; `mapped` has ``NAME=SPEC`` texts.

    NAME is the plan's name of a memory or its device's.
    """
    memories = plan_memories(plan)
    given = _given_specs(memories, mapped)
    resolved: list[LocalMemory] = []
    for number, memory in enumerate(memories):
        text = given.get(memory.name) or memory.spec or ("dram" if number == 0 else "")
        placed = [row for row in plan.placements if row.kind in RECOGNISABLE or row.parts]
        used = any(_goes_to(placement, memory.name) for placement in placed) or any(
            move.memory == memory.name for phase in plan.phases for move in phase.moves
        )
        if not text and not used:
            continue
        if not text:
            raise CommandError(
                f"the plan puts data in {memory.name} ({memory.device}), which has no local "
                f"memory: name one, such as --map {memory.name}=node:1 or "
                f"--map {memory.name}=file:/mnt/pmem0"
            )
        spec = parse_spec(text, paged=True)
        if number == 0 and spec.kind not in ("dram", "node"):
            raise CommandError(f"near memory is dram or node:N, not {text}")
        capacity = memory.capacity_bytes if number else None
        resolved.append(_checked_memory(memory, spec, capacity or 0, root))
    return resolved


def _goes_to(placement: Placement, name: str) -> bool:
    parts = {part.memory for part in placement.parts} | set(placement.interleave)
    return name in (parts or {placement.memory})


def _given_specs(memories: Sequence[PlanMemory], mapped: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    valid = [name for memory in memories for name in (memory.name, memory.device) if name]
    for text in mapped:
        name, equals, spec = text.partition("=")
        if not equals or not spec:
            raise CommandError(f"cannot read --map {text}: write NAME=SPEC, such as far=node:1")
        matches = [memory.name for memory in memories if name in (memory.name, memory.device)]
        if not matches:
            hint = nearest(name, valid) or f"; it has {', '.join(dict.fromkeys(valid))}"
            raise CommandError(f"the plan has no memory {name!r}{hint}")
        if matches[0] in given:
            raise CommandError(f"--map names {matches[0]} twice: leave one out")
        parsed = parse_spec(spec, paged=True)
        if parsed.load != "none" or (parsed.pages and parsed.kind != "hugetlb"):
            raise CommandError(
                f"--map {text}: pages= and load= apply to measurements; for a run, --pages sets "
                "the page size of all memories"
            )
        given[matches[0]] = spec
    return given


def _checked_memory(memory: PlanMemory, spec: MemorySpec, capacity: int, root: Path) -> LocalMemory:
    local = LocalMemory(memory.name, memory.device, spec, capacity)
    match spec.kind:
        case "node":
            _check_node(spec, root)
        case "file":
            _check_folder(spec)
        case "devdax":
            return LocalMemory(
                memory.name, memory.device, spec, capacity, _device_bytes(spec, root)
            )
        case "dram" | "zram" | "zswap" | "swap":
            pass
        case _:
            raise CommandError(
                f"{memory.name} cannot be {spec}: a program's data can be put in dram, node:N, "
                "file:FOLDER, devdax:/dev/daxX.Y or a paged memory (zram, zswap, swap:FILE)"
            )
    return local


def _check_node(spec: MemorySpec, root: Path) -> None:
    nodes = {node.id: node for node in local_nodes(root)}
    node = nodes.get(spec.node if spec.node is not None else -1)
    if node is None:
        known = ", ".join(str(number) for number in nodes)
        raise CommandError(
            f"this machine has no memory node {spec.node}; it has {known}. Use --map NAME=SPEC to "
            "name another memory, such as file:/mnt/pmem0",
            ExitCode.MACHINE_LACKS,
        )
    if not node.memory_bytes:
        raise CommandError(
            f"node {spec.node} has no memory that is online: bring its blocks online first "
            "(nearfar machine --check shows how)",
            ExitCode.MACHINE_LACKS,
        )


def _check_folder(spec: MemorySpec) -> None:
    folder = spec.path or Path()
    if not folder.is_dir():
        raise CommandError(
            f"{folder} is not a folder: data goes to an unnamed file in it, so name the folder "
            "where the memory is mounted",
            ExitCode.MACHINE_LACKS if not folder.exists() else ExitCode.WRONG_USE,
        )
    if len(os.fsencode(folder)) > 231:
        raise CommandError(f"the path {folder} is longer than 231 bytes: mount it elsewhere")
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        raise CommandError(
            f"cannot create a file for data in {folder}: {error.strerror}", ExitCode.MACHINE_LACKS
        ) from error
    os.close(file)
    if spec.dax == "require" and not is_dax(folder):
        raise CommandError(
            f"{folder} has no DAX: its pages would be copies in DRAM (the page cache). Mount its "
            "file system with -o dax, or leave out dax=require to go on with it",
            ExitCode.MACHINE_LACKS,
        )


def is_dax(folder: Path) -> bool:
    """Return whether files of `folder` can be mapped with MAP_SYNC, that is, without page cache."""
    map_shared_validate, map_sync = 0x03, 0x80000  # asm-generic/mman.h
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            os.ftruncate(file, layout.PAGE)
            mmap.mmap(file, layout.PAGE, flags=map_shared_validate | map_sync).close()
        finally:
            os.close(file)
    except (OSError, ValueError):
        return False
    return True


def _device_bytes(spec: MemorySpec, root: Path) -> int:
    path = spec.path or Path()
    if not re.fullmatch(r"dax[0-9]+\.[0-9]+", path.name):
        raise CommandError(f"{path} is not a DAX device: those are called /dev/daxX.Y")
    size = Tree(root).number(f"sys/bus/dax/devices/{path.name}/size")
    if not path.exists() or not size:
        raise CommandError(
            f"there is no DAX device {path}: make one with `ndctl create-namespace -m devdax` "
            "(nearfar machine --check lists devices)",
            ExitCode.MACHINE_LACKS,
        )
    if not os.access(path, os.R_OK | os.W_OK):
        raise CommandError(
            f"{path} may not be opened for reading and writing: ask its owner for access",
            ExitCode.MACHINE_LACKS,
        )
    return size


def near_nodes(memories: Sequence[LocalMemory], root: Path = Path("/")) -> list[int]:
    """Return the nodes of near memory that is ``dram``: those with CPUs that no other memory uses.

    A memory policy of this process (numactl), which the program inherits, restricts them further.
    """
    used = {memory.spec.node for memory in memories if memory.spec.kind == "node"}
    local = local_nodes(root)
    free = [node for node in local if node.id not in used] or local[:1]
    near = [node.id for node in free if node.cpus] or [node.id for node in free]
    _, allowed = process_memory.own_policy()
    return [node for node in near if node in allowed] or near


def near_mode(near: Sequence[int]) -> int:
    """Return the policy mode of near memory: this process' mode if it suits `near`, else default.

    The mode `BIND` needs all of its nodes to be near, because a program whose bound nodes are full
    is killed.
    """
    mode, allowed = process_memory.own_policy()
    interleaved = mode in (INTERLEAVE, WEIGHTED_INTERLEAVE) and not allowed.isdisjoint(near)
    return mode if interleaved or (mode == BIND and allowed.issubset(near)) else DEFAULT


def memory_warnings(
    memories: Sequence[LocalMemory], plan: Plan, root: Path = Path("/")
) -> list[str]:
    """Return warnings about nodes with too little free memory and files without DAX."""
    warnings: list[str] = []
    nodes = {node.id: node for node in local_nodes(root)}
    _, allowed = process_memory.own_policy()
    near = near_nodes(memories, root) if memories[0].spec.kind == "dram" else []
    if near and allowed and allowed.isdisjoint(near):
        warnings.append(
            "a memory policy (numactl) keeps what the plan leaves near on "
            f"{_node_list(allowed)}, and near memory is {_node_list(near)}: run without numactl"
        )
    for memory in memories[1:]:
        required = sum(
            placement.size_bytes
            for placement in plan.placements
            if placement.memory == memory.name and placement.kind in RECOGNISABLE
        )
        node = memory.spec.node
        free = nodes[node].free_bytes if node in nodes else None
        if free is not None and required > free:
            warnings.append(
                f"node {node} has {format_bytes(free)} free and the plan puts "
                f"{format_bytes(required)} there: the kernel will put the remainder elsewhere"
            )
        if memory.kind == layout.FILE and not is_dax(memory.spec.path or Path()):
            warnings.append(
                f"{memory.spec.path} has no DAX: its pages are in the page cache, that is in DRAM, "
                "until the kernel writes them back"
            )
    return warnings


def _node_list(nodes: Iterable[int]) -> str:
    *others, last = (str(node) for node in sorted(nodes))
    return f"nodes {', '.join(others)} and {last}" if others else f"node {last}"
