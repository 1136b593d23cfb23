"""The memories of a plan on this machine: what `--map` and the plan say, checked before the run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, nearest
from nearfar.base.units import format_bytes
from nearfar.documents.machine import Node
from nearfar.documents.plan import Placement, Plan, PlanMemory
from nearfar.machine.nodes import read_nodes
from nearfar.machine.sysfs import Tree
from nearfar.memories.spec import MemorySpec, parse_spec
from nearfar.run import layout
from nearfar.run.match import RECOGNISABLE


def nodes_here(root: Path = Path("/")) -> list[Node]:
    """Return the machine's memory nodes; one of all CPUs where the kernel knows none."""
    return read_nodes(Tree(root), sorted(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Place:
    """One memory of the plan and what stands for it here."""

    name: str
    device: str
    spec: MemorySpec
    capacity_bytes: int = 0
    """0: no limit."""
    size_bytes: int = 0
    """Of a DAX device."""

    @property
    def kind(self) -> int:
        """Return the kind as the library has it."""
        kinds = {"node": layout.NODE, "file": layout.FILE, "devdax": layout.DEVICE}
        return kinds.get(self.spec.kind, layout.DEFAULT)


def plan_memories(plan: Plan) -> list[PlanMemory]:
    """Return the plan's memories; of an earlier version's plan, near and far."""
    return plan.memories or [
        PlanMemory(name="near", device=plan.near),
        PlanMemory(name="far", device=plan.far),
    ]


def resolve(plan: Plan, mapped: Sequence[str], root: Path = Path("/")) -> list[Place]:
    """Return the plan's memories, near first; `mapped` holds ``NAME=SPEC``, name or device."""
    memories = plan_memories(plan)
    given = _given(memories, mapped)
    places: list[Place] = []
    for number, memory in enumerate(memories):
        text = given.get(memory.name) or memory.spec or ("dram" if number == 0 else "")
        placed = [one for one in plan.placements if one.kind in RECOGNISABLE]
        used = any(_goes_to(placement, memory.name) for placement in placed) or any(
            move.memory == memory.name for phase in plan.phases for move in phase.moves
        )
        if not text and not used:
            continue
        if not text:
            raise CommandError(
                f"the plan puts data in {memory.name} ({memory.device}), and nothing here stands "
                f"for it: say what does, such as --map {memory.name}=node:1 or "
                f"--map {memory.name}=file:/mnt/pmem0"
            )
        spec = parse_spec(text)
        if number == 0 and spec.kind not in ("dram", "node"):
            raise CommandError(f"near memory is dram or node:N, not {text}")
        capacity = memory.capacity_bytes if number else None
        places.append(_checked(memory, spec, capacity or 0, root))
    return places


def _goes_to(placement: Placement, name: str) -> bool:
    parts = {part.memory for part in placement.parts} | set(placement.interleave)
    return name in (parts or {placement.memory})


def _given(memories: Sequence[PlanMemory], mapped: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    valid = [name for memory in memories for name in (memory.name, memory.device) if name]
    for text in mapped:
        name, equals, spec = text.partition("=")
        if not equals or not spec:
            raise CommandError(f"cannot read --map {text}: write NAME=SPEC, such as far=node:1")
        found = [memory.name for memory in memories if name in (memory.name, memory.device)]
        if not found:
            hint = nearest(name, valid) or f"; it has {', '.join(dict.fromkeys(valid))}"
            raise CommandError(f"the plan has no memory {name!r}{hint}")
        if found[0] in given:
            raise CommandError(f"--map says twice what stands for {found[0]}: leave one out")
        parsed = parse_spec(spec)
        if parsed.load != "none" or (parsed.pages and parsed.kind != "hugetlb"):
            raise CommandError(
                f"--map {text}: pages= and load= are said of memories that are measured; of a run, "
                "--pages says how large pages are, for all its memories"
            )
        given[found[0]] = spec
    return given


def _checked(memory: PlanMemory, spec: MemorySpec, capacity: int, root: Path) -> Place:
    place = Place(memory.name, memory.device, spec, capacity)
    match spec.kind:
        case "node":
            _check_node(spec, root)
        case "file":
            _check_folder(spec)
        case "devdax":
            return Place(memory.name, memory.device, spec, capacity, _device_bytes(spec, root))
        case "dram":
            pass
        case _:
            raise CommandError(
                f"{memory.name} cannot be {spec}: a program's data can be put in dram, node:N, "
                "file:FOLDER or devdax:/dev/daxX.Y"
            )
    return place


def _check_node(spec: MemorySpec, root: Path) -> None:
    nodes = {node.id: node for node in nodes_here(root)}
    node = nodes.get(spec.node if spec.node is not None else -1)
    if node is None:
        there = ", ".join(str(number) for number in nodes)
        raise CommandError(
            f"this machine has no memory node {spec.node}; it has {there}. Use --map NAME=SPEC to "
            "name another memory, such as file:/mnt/pmem0",
            ExitCode.MACHINE_LACKS,
        )
    if not node.memory_bytes:
        raise CommandError(
            f"node {spec.node} has no memory that is online; put its blocks online first "
            "(nearfar machine --check says how)",
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
            f"no file for data can be made in {folder}: {error.strerror}", ExitCode.MACHINE_LACKS
        ) from error
    os.close(file)
    if spec.dax == "require" and not is_dax(folder):
        raise CommandError(
            f"{folder} has no DAX: its pages would be copies in DRAM (the page cache). Mount its "
            "file system with -o dax, or leave out dax=require to go on with it",
            ExitCode.MACHINE_LACKS,
        )


def is_dax(folder: Path) -> bool:
    """Tell whether files of `folder` can be mapped with MAP_SYNC: they are memory, not cached."""
    import mmap

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
            "(nearfar machine --check shows what is there)",
            ExitCode.MACHINE_LACKS,
        )
    if not os.access(path, os.R_OK | os.W_OK):
        raise CommandError(
            f"{path} may not be opened for reading and writing: ask for the right to it",
            ExitCode.MACHINE_LACKS,
        )
    return size


def warnings_of(places: Sequence[Place], plan: Plan, root: Path = Path("/")) -> list[str]:
    """Say what of the memories will not be as the plan wants: full nodes, files without DAX."""
    said: list[str] = []
    nodes = {node.id: node for node in nodes_here(root)}
    for place in places[1:]:
        wanted = sum(
            placement.size_bytes
            for placement in plan.placements
            if placement.memory == place.name and placement.kind in RECOGNISABLE
        )
        free = nodes[place.spec.node].free_bytes if place.spec.node in nodes else None
        if free is not None and wanted > free:
            said.append(
                f"node {place.spec.node} has {format_bytes(free)} free and the plan wants "
                f"{format_bytes(wanted)} there: the kernel will put the rest elsewhere"
            )
        if place.kind == layout.FILE and not is_dax(place.spec.path or Path()):
            said.append(
                f"{place.spec.path} has no DAX: its pages are in the page cache, that is in DRAM, "
                "until the kernel writes them back"
            )
    return said
