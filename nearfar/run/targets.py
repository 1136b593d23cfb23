"""From a plan's placements to what the library is told: memories, and targets made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.documents.plan import Placement, Plan
from nearfar.run import layout
from nearfar.run.match import RECOGNISABLE
from nearfar.run.memories import Place

_WEIGHTS = 1000
"""Shares are told in so many parts."""

LEAST_MOVING = 1 / 256
"""Of all the plan's bytes: what is smaller stays where the plan put it."""
LEAST_MOVING_BYTES = 2 << 20
"""Arenas take their memory in huge pages: what is smaller would not fill one, and each arena costs
a program time: eighteen cost Redis 3 %."""

Shape = tuple[int, tuple[tuple[int, int], ...]]
"""Style, and (memory, weight) of each part."""


@dataclass(frozen=True)
class Targets:
    """Every object's target, and what each target is."""

    shapes: list[Shape]
    of_object: dict[int, int]
    """Place of a placement in the plan to its target."""
    moving: dict[int, int] = field(default_factory=dict)
    """Likewise, of the objects that have a target of their own since they may move."""
    warnings: list[str] = field(default_factory=list)

    def shares(self, target: int) -> dict[int, float]:
        """Return the share of each memory, by number."""
        total = sum(weight for _, weight in self.shapes[target][1])
        found: dict[int, float] = {}
        for memory, weight in self.shapes[target][1]:
            found[memory] = found.get(memory, 0.0) + weight / total
        return found


def make_targets(plan: Plan, places: Sequence[Place], *, adapt: bool) -> Targets:
    """Give each placement its target; those that move while the program runs one of their own."""
    numbers = {place.name: number for number, place in enumerate(places)}
    near: Shape = (layout.SINGLE, ((0, 1),))
    shapes = [near]
    targets = Targets(shapes, {})
    movers = _movers(plan) if adapt else set()
    by_size = sorted(
        range(len(plan.placements)), key=lambda place: -plan.placements[place].size_bytes
    )
    left_out = 0
    for place in by_size:
        placement = plan.placements[place]
        shape = _shape(placement, numbers)
        if placement.kind not in RECOGNISABLE:
            if shape != near:
                left_out += 1
            continue
        own = placement.object in movers
        if not own and shape in shapes:
            target = shapes.index(shape)
        elif len(shapes) < layout.TARGETS:
            target = len(shapes)
            shapes.append(shape)
        else:
            own = False
            target = _nearest(shapes, shape)
            targets.warnings.append(
                f"{placement.name} goes where most of it belongs only: a run can tell "
                f"{layout.TARGETS} places apart"
            )
        targets.of_object[place] = target
        if own:
            targets.moving[place] = target
    if left_out:
        targets.warnings.append(
            f"{left_out} object{'s' if left_out > 1 else ''} of the plan's far memory stay near: "
            "the stack, globals and mapped files are not the allocator's to place"
        )
    return targets


def _movers(plan: Plan) -> set[int]:
    found = {move.object for phase in plan.phases for move in phase.moves}
    if found:
        return found
    # Without phases, what use shows: the largest objects, as many as there are places for. Each
    # has arenas to itself, which is more than a small one is worth.
    largest = sorted(plan.placements, key=lambda placement: -placement.size_bytes)
    whole_bytes = sum(placement.size_bytes for placement in plan.placements)
    least = max(LEAST_MOVING * whole_bytes, LEAST_MOVING_BYTES)
    whole = [
        one
        for one in largest
        if one.kind in RECOGNISABLE
        and not one.parts
        and not one.interleave
        and one.size_bytes >= least
    ]
    return {placement.object for placement in whole[: layout.TARGETS // 2]}


def _shape(placement: Placement, numbers: Mapping[str, int]) -> Shape:
    if placement.interleave:
        weights = [(numbers[name], weight) for name, weight in placement.interleave.items()]
        return layout.INTERLEAVE, tuple(weights[: layout.PARTS])
    if placement.parts:
        parts = [
            (numbers[part.memory], max(1, round(part.share * _WEIGHTS)))
            for part in placement.parts
            if part.share > 0
        ]
        return layout.IN_PARTS, tuple(parts[: layout.PARTS])
    return layout.SINGLE, ((numbers.get(placement.memory, 0), 1),)


def _nearest(shapes: Sequence[Shape], shape: Shape) -> int:
    most = max(shape[1], key=lambda part: part[1])[0]
    return next(
        (at for at, (style, parts) in enumerate(shapes)
         if style == layout.SINGLE and parts[0][0] == most), 0
    )  # fmt: skip


def make_table(
    targets: Targets, places: Sequence[Place], *, split_sizes: bool, huge_pages: int, every: bool
) -> layout.Table:
    """Return the table that the library reads."""
    table = layout.Table()
    table.magic = layout.MAGIC
    table.version = layout.VERSION
    table.look_at_every = every
    table.memory_count, table.target_count = len(places), len(targets.shapes)
    table.split_sizes, table.huge_pages = split_sizes, huge_pages
    for memory, place in zip(table.memories, places, strict=False):
        memory.kind = place.kind
        memory.node = -1 if place.spec.node is None else place.spec.node
        memory.capacity_bytes = place.capacity_bytes
        memory.size_bytes = place.size_bytes
        memory.path = b"" if place.spec.path is None else bytes(place.spec.path.resolve())
    for target, (style, parts) in zip(table.targets, targets.shapes, strict=False):
        target.style, target.count = style, len(parts)
        for number, (one, weight) in enumerate(parts):
            target.memory[number], target.weight[number] = one, weight
    if not every:
        # Blocks that are looked at have this target's addresses.
        table.targets[1] = table.targets[0]
    return table
