"""Targets of a plan's placements, and the table of memories and targets for the library.

A target is one memory, or several by weights or by shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from nearfar.base.units import format_count
from nearfar.documents.plan import Placement, Plan
from nearfar.program.named_frames import CPYTHON_ARENAS, is_in_arenas, is_memory
from nearfar.run import layout
from nearfar.run.local_memories import LocalMemory, near_mode, near_nodes
from nearfar.run.matcher import RECOGNISABLE

_NODE_BITS = 64
"""Bits for nodes in the table."""
_SHARE_UNITS = 1000
"""Units that shares are rounded to."""

MIN_MOVING_SHARE = 1 / 256
"""Least share of the plan's bytes of an object that may move."""
MIN_MOVING_BYTES = 2 << 20
"""Least size of an object that may move: each needs its own arenas, which allocate whole huge pages
and cost time (eighteen cost Redis 3 %)."""

MAX_MOVING_RANGES = 32
"""Ranges into which a movable object is divided, besides the plan's, so that a part that becomes
hot moves alone. A plan has at most 128; the library can divide a block into the sum of both."""
MIN_MOVING_RANGE_BYTES = 8 << 20
"""Least length of these ranges: each border between two of them costs a huge page."""

Shape = tuple[int, tuple[tuple[int, int], ...]]
"""Style of a target, and its parts: (memory, weight), or (memory, end) if the style is ranges."""

MIN_FILE_BYTES = 1 << 20
"""Least size of a mapped file that is placed."""

FILE_START = "file "
"""Start of a file's name in plans."""


@dataclass(frozen=True)
class Targets:
    """The shapes of all targets, and each object's target."""

    shapes: list[Shape]
    of_object: dict[int, int]
    """Target of each placement, by its index in the plan."""
    moving: dict[int, int] = field(default_factory=dict)
    """Target of each placement that may move and has its own target, by its index."""
    files: dict[int, str] = field(default_factory=dict)
    """Name of each mapped file that is placed, by the index of its placement."""
    warnings: list[str] = field(default_factory=list)

    @property
    def all_near(self) -> bool:
        """Whether every object goes to near memory."""
        return len(self.shapes) == 1

    def shares(self, target: int) -> dict[int, float]:
        """Return a target's share in each memory, by number."""
        style, parts = self.shapes[target]
        if style == layout.IN_RANGES:
            starts = [0, *(end for _, end in parts)]
            parts = tuple((part[0], part[1] - at) for at, part in zip(starts, parts, strict=False))
        total = sum(weight for _, weight in parts)
        shares: dict[int, float] = {}
        for memory, weight in parts:
            shares[memory] = shares.get(memory, 0.0) + weight / total
        return shares


def make_targets(plan: Plan, memories: Sequence[LocalMemory], *, adapt: bool) -> Targets:
    """Return the targets of all placements; an object that may move has a target of its own."""
    plan = _with_arenas_placed(plan)
    numbers = {memory.name: number for number, memory in enumerate(memories)}
    near: Shape = (layout.SINGLE, ((0, 1),))
    locks = [number for number, memory in enumerate(memories) if memory.locked]
    shapes = [near]
    targets = Targets(shapes, {})
    movers = _movable_objects(plan) if adapt else set()
    by_size = sorted(
        range(len(plan.placements)), key=lambda index: -plan.placements[index].size_bytes
    )
    left_out = 0
    for index in by_size:
        placement = plan.placements[index]
        shape = _shape_of(placement, numbers, spread=bool(locks))
        is_file = shape != near and _is_placeable_file(placement, shape, memories, targets)
        if placement.kind not in RECOGNISABLE and not is_file:
            if shape != near and (not locks or any(number in locks for number, _ in shape[1])):
                left_out += 1
            continue
        own = placement.object in movers
        ranged = shape[0] == layout.IN_RANGES
        if ranged:
            left = layout.RANGES - sum(len(s[1]) for s in shapes if s[0] == layout.IN_RANGES)
            finer = _subdivided(shape, placement.size_bytes)
            if own and len(finer[1]) <= left:
                shape = finer
            elif len(shape[1]) > left:
                shape, ranged, own = _shape_by_shares(placement, numbers), False, False
        if not own and not ranged and shape in shapes:
            target = shapes.index(shape)
        elif len(shapes) < layout.TARGETS:
            target = len(shapes)
            shapes.append(shape)
        else:
            own = False
            target = _largest_part_target(shapes, shape)
            targets.warnings.append(
                f"all of {placement.name} goes to the memory of its largest part: a run has at "
                f"most {layout.TARGETS} targets"
            )
        targets.of_object[index] = target
        if is_file:
            targets.files[index] = placement.name.removeprefix(FILE_START)
        if own:
            targets.moving[index] = target
    if left_out and locks:
        targets.warnings.append(
            f"{format_count(left_out, 'object')} of the plan will not be locked: the "
            "library locks blocks and mappings; the stack, globals and mapped files are paged"
        )
    elif left_out:
        targets.warnings.append(
            f"{format_count(left_out, 'object')} planned far will be near: "
            "the library cannot place the stack and globals, and places only the "
            f"{layout.FILES} largest mapped files of 1 MiB or more whose memories are NUMA nodes"
        )
    return targets


def _with_arenas_placed(plan: Plan) -> Plan:
    """Return the plan with CPython's arenas in the memory where its small objects save most time.

    The library places whole arenas, not the blocks that CPython cuts from them.
    """
    saved: dict[str, float] = {}
    for row in plan.placements:
        if is_in_arenas(row.split):
            saved[row.memory] = saved.get(row.memory, 0.0) + row.added_ns_if_far.value
    if not saved:
        return plan
    memory = max(saved, key=lambda name: saved[name])
    placements = [
        msgspec.structs.replace(row, memory=memory, parts=[], interleave={})
        if is_memory(row.frames) and row.frames[0].function == CPYTHON_ARENAS
        else row
        for row in plan.placements
    ]
    return msgspec.structs.replace(plan, placements=placements)


def _is_placeable_file(
    placement: Placement, shape: Shape, memories: Sequence[LocalMemory], targets: Targets
) -> bool:
    """Return whether the library can place a mapped file: by memory policies, on nodes only."""
    kinds = {memories[number].kind for number, _ in shape[1]}
    return (
        placement.kind == "file"
        and placement.name.startswith(FILE_START)
        and placement.size_bytes >= MIN_FILE_BYTES
        and len(targets.files) < layout.FILES
        and kinds <= {layout.DEFAULT, layout.NODE}
    )


def _movable_objects(plan: Plan) -> set[int]:
    """Return the objects that may move during the run: those of the plan's moves, if it has any.

    Otherwise the largest objects may move, as hotness decides. Small objects may not: each object
    that may move has its own arenas, which cost more than a small object gains.
    """
    moving = {move.object for phase in plan.phases for move in phase.moves}
    if moving:
        return moving
    largest = sorted(plan.placements, key=lambda placement: -placement.size_bytes)
    total_bytes = sum(placement.size_bytes for placement in plan.placements)
    min_bytes = max(MIN_MOVING_SHARE * total_bytes, MIN_MOVING_BYTES)
    whole = [
        row
        for row in largest
        if (row.kind in RECOGNISABLE or _is_placed_file(row, plan))
        and not is_dealt_out(row)
        and row.size_bytes >= min_bytes
    ]
    return {placement.object for placement in whole[: layout.TARGETS // 2]}


def _is_placed_file(placement: Placement, plan: Plan) -> bool:
    """Return whether a plan puts some of a mapped file elsewhere than near."""
    near = plan.memories[0].name
    return placement.kind == "file" and bool(placement.parts or placement.memory != near)


def is_dealt_out(placement: Placement) -> bool:
    """Return whether an object is in several memories by shares or weights, not by range."""
    by_range = bool(placement.parts) and placement.parts[-1].end_bytes > 0
    return bool(placement.interleave) or (bool(placement.parts) and not by_range)


def _subdivided(shape: Shape, size_bytes: int) -> Shape:
    """Return `shape` with long ranges divided into ranges of equal length in the same memory."""
    longest = max(MIN_MOVING_RANGE_BYTES, size_bytes // MAX_MOVING_RANGES)
    parts = []
    begin = 0
    for memory, end in shape[1]:
        count = max(1, (end - begin) // longest)
        pages = (end - begin) // count // layout.PAGE
        parts += [(memory, begin + n * pages * layout.PAGE) for n in range(1, count)]
        parts.append((memory, end))
        begin = end
    return shape[0], tuple(parts)


def _shape_of(placement: Placement, numbers: Mapping[str, int], *, spread: bool = False) -> Shape:
    """Return a placement's shape; `spread`: its parts alternate instead of following each other.

    A plan with locks assumes that the locked part is touched as often as the whole. A contiguous
    part of data that a program walks through is not, so the locked pages must be spread.
    """
    if placement.interleave:
        weights = [(numbers[name], weight) for name, weight in placement.interleave.items()]
        return layout.INTERLEAVE, tuple(weights[: layout.PARTS])
    if placement.parts and placement.parts[-1].end_bytes:
        return layout.IN_RANGES, tuple(
            (numbers.get(part.memory, 0), part.end_bytes) for part in placement.parts
        )
    return _shape_by_shares(placement, numbers, spread=spread)


def _shape_by_shares(
    placement: Placement, numbers: Mapping[str, int], *, spread: bool = False
) -> Shape:
    if placement.parts:
        parts = [
            (numbers[part.memory], max(1, round(part.share * _SHARE_UNITS)))
            for part in placement.parts
            if part.share > 0
        ]
        style = layout.INTERLEAVE if spread else layout.IN_PARTS
        return style, tuple(parts[: layout.PARTS])
    return layout.SINGLE, ((numbers.get(placement.memory, 0), 1),)


def _largest_part_target(shapes: Sequence[Shape], shape: Shape) -> int:
    memory = max(shape[1], key=lambda part: part[1])[0]
    single = (layout.SINGLE, ((memory, 1),))
    return shapes.index(single) if single in shapes else 0


def _largest_far_target(targets: Targets) -> int:
    """Return the far target with most objects; 0 if no object is far."""
    objects = Counter(target for target in targets.of_object.values() if target != 0)
    return max(objects, key=lambda target: (objects[target], -target), default=0)


def _fill_targets(table: layout.Table, targets: Targets) -> None:
    used = 0
    for at, (style, parts) in enumerate(targets.shapes):
        target, weights = table.targets[at], list(parts)
        if style == layout.IN_RANGES:
            target.first_range, target.range_count = used, len(parts)
            rows = table.ranges[used : used + len(parts)]
            for number, (row, (memory, end)) in enumerate(zip(rows, parts, strict=True)):
                row.memory, row.end = memory, end
                row.apart = at in targets.moving.values() and number % 2
            used += len(parts)
            # Small blocks go to the memory with most of the object.
            shares = sorted(targets.shares(at).items(), key=lambda pair: -pair[1])
            weights = [(memory, round(share * _SHARE_UNITS)) for memory, share in shares]
        target.style, target.count = style, len(weights)
        for part, (memory, weight) in enumerate(weights):
            target.memory[part], target.weight[part] = memory, weight


def make_table(
    targets: Targets,
    memories: Sequence[LocalMemory],
    *,
    split_sizes: bool,
    huge_pages: int,
) -> layout.Table:
    """Return the library's table."""
    table = layout.Table()
    table.magic = layout.MAGIC
    table.version = layout.VERSION
    table.memory_count, table.target_count = len(memories), len(targets.shapes)
    table.split_sizes, table.huge_pages = split_sizes, huge_pages
    table.adapts = bool(targets.moving)
    table.heap_target = _largest_far_target(targets)
    for row, memory in zip(table.memories, memories, strict=False):
        row.kind = memory.kind
        row.node = -1 if memory.spec.node is None else memory.spec.node
        if memory.kind == layout.DEFAULT:
            near = near_nodes(memories)
            row.near_nodes = sum(1 << node for node in near if node < _NODE_BITS)
            row.near_mode = near_mode(near)
        row.capacity_bytes = memory.capacity_bytes
        row.size_bytes = memory.size_bytes
        row.path = b"" if memory.spec.path is None else bytes(memory.spec.path.resolve())
    _fill_targets(table, targets)
    table.file_count = len(targets.files)
    for row, (index, name) in zip(table.files, targets.files.items(), strict=False):
        row.name = name.encode()[: layout.FILE_NAME_BYTES - 1]
        row.object, row.target = index + 1, targets.of_object[index]
    return table
