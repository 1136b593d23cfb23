"""Each field's share of the misses and of the time that far memory adds.

An instruction's misses are divided among its fields. Of several accesses that share one test of the
instrumentation, the first fetches the line. A later access misses only if its field is in another
line, with probability distance / 64 bytes, at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.fields_of_types import FieldEffect
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import Instruction, Phase
from nearfar.predict.model import Model
from nearfar.predict.object_effects import added_by_object_ns, added_interval
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    misses,
)

PERHAPS = 0.5
"""Weight of a field that is touched on some paths only."""
MAX_FIELDS = 200
"""Fields listed, those that add most first."""

UNKNOWN = TouchedField(type="", type_bytes=0, offset=0, bytes=0)

Key = tuple[str, int, str, int, int]


def shares(fields: Sequence[TouchedField]) -> list[float]:
    """Return each field's share of the misses of one instruction; they sum to 1."""
    weights: list[float] = []
    for at, touched in enumerate(fields):
        apart = [
            min(1.0, abs(touched.offset - before.offset) / LINE_BYTES)
            for before in fields[:at]
            if before.type == touched.type
        ]
        weight = min(apart) if apart else float(at == 0)
        weights.append(weight if touched.always else PERHAPS * weight)
    total = sum(weights)
    return [weight / total for weight in weights]


@dataclass
class _Sum:
    """Misses and added time of a field in all phases."""

    misses: float = 0.0
    added_ns: float = 0.0


def field_effects(
    workload: WorkloadProfile, models: Sequence[Model], far_time: Estimate
) -> list[FieldEffect]:
    """Return the fields that add most in all phases; none where no type is known.

    `far_time` is the whole run's slowdown times near time.
    """
    if not any(instruction.fields for instruction in workload.instructions):
        return []
    sums: dict[Key, _Sum] = {}
    phases = {phase.name: phase for phase in workload.phases}
    for model in models:
        _add_phase(sums, workload, phases[model.phase.name], model)
    near_ns = sum(model.phase.near_time_ns.value for model in models)
    keys = sorted(sums, key=lambda key: (-sums[key].added_ns, -sums[key].misses, key))
    added = np.array([sums[key].added_ns for key in keys])
    low, high = added_interval(added, near_ns, far_time)
    effects = []
    for key, value, bottom, top in zip(keys, added, low, high, strict=True):
        effects.append(
            FieldEffect(
                type=key[0],
                type_bytes=key[1],
                field=key[2],
                offset=key[3],
                bytes=key[4],
                misses=float(sums[key].misses),
                added_ns=Estimate(float(value), float(bottom), float(top)),
            )
        )
    return effects[:MAX_FIELDS]


def _add_phase(
    sums: dict[Key, _Sum], workload: WorkloadProfile, phase: Phase, model: Model
) -> None:
    """Add each field's misses and added time in a phase; the rest goes to the unknown type."""
    added = added_by_object_ns(model)
    lines = misses(model.phase.objects)
    by_object: dict[int, list[tuple[Instruction, float]]] = {}
    for row in phase.instructions:
        if row.misses > 0.0:
            described = workload.instructions[row.instruction]
            by_object.setdefault(row.object, []).append((described, row.misses))
    for number in np.flatnonzero((lines > 0.0) | (added != 0.0)).tolist():
        rows = by_object.get(number, [])
        listed = sum(count for _, count in rows)
        # Kept instructions have 99 % of all misses; of an object they may have fewer.
        part = min(1.0, listed / lines[number]) if lines[number] > 0.0 else 0.0
        _add(sums, UNKNOWN, float(lines[number]) * (1.0 - part), added[number] * (1.0 - part))
        for (described, count), cost in zip(rows, _cost_shares(model, number, rows), strict=True):
            fields = described.fields or [UNKNOWN]
            for touched, share in zip(fields, shares(fields), strict=True):
                missed = float(lines[number]) * part * count / listed
                _add(sums, touched, share * missed, share * part * added[number] * cost)


def _cost_shares(
    model: Model, number: int, rows: Sequence[tuple[Instruction, float]]
) -> list[float]:
    """Return each instruction's share of what the object adds, by misses and their class."""
    parts = np.zeros((COLUMNS, COLUMNS))
    np.fill_diagonal(parts, model.phase.objects[number])
    column_ns = np.maximum(model.times_ns(parts) - model.near_time_ns, 0.0)
    columns = [_column(instruction) for instruction, _ in rows]
    totals = dict.fromkeys(columns, 0.0)
    for column, (_, count) in zip(columns, rows, strict=True):
        totals[column] += count
    costs = [
        float(column_ns[column]) * count / totals[column]
        for column, (_, count) in zip(columns, rows, strict=True)
    ]
    if sum(costs) <= 0.0:
        costs = [count for _, count in rows]
    return [cost / sum(costs) for cost in costs]


def _column(instruction: Instruction) -> int:
    """Return the column of traffic that an instruction's misses are in."""
    stream = instruction.access_class == "stream"
    if instruction.operation == "store":
        return STORE_STREAM if stream else STORE
    if stream:
        return STREAM
    return CHASE if instruction.access_class == "chase" else INDEPENDENT


def _add(sums: dict[Key, _Sum], touched: TouchedField, missed: float, added_ns: float) -> None:
    if missed == 0.0 and added_ns == 0.0:
        return
    key = (touched.type, touched.type_bytes, touched.field, touched.offset, touched.bytes)
    total = sums.setdefault(key, _Sum())
    total.misses += missed
    total.added_ns += float(added_ns)
