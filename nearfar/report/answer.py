"""The headline in plain words: how much slower, what must stay near, what that saves."""

from __future__ import annotations

from nearfar.base.statistics import Estimate
from nearfar.base.units import format_bytes, format_ns
from nearfar.report.data import (
    TOTAL,
    Answer,
    Effect,
    Frontier,
    MemoryAnswer,
    MemoryFacts,
    ObjectFacts,
    Saving,
    Triple,
)

SHARES = (0.10, 0.25, 0.50)
"""Budgets of the headline, as parts of the program's memory."""
MOST_NAMES = 3
"""Objects named in one row."""
HARDLY = 1.02
"""Below this slowdown a reader would call it "hardly any"; near time itself varies by as much."""


def answer(
    *,
    program: str,
    phase: str,
    memories: list[MemoryFacts],
    effects: dict[tuple[str, str], Effect],
    frontiers: dict[tuple[str, str], Frontier],
    objects: list[ObjectFacts],
) -> Answer:
    """Return the headline of `phase`, on every far memory."""
    rows: list[MemoryAnswer] = []
    for memory in memories:
        effect = effects.get((memory.name, phase))
        if effect is None:
            continue
        curve = frontiers.get((memory.name, phase))
        savings = [saving(curve, share, effect, objects) for share in SHARES] if curve else []
        rows.append(
            MemoryAnswer(
                memory=memory.name,
                title=memory.title,
                slowdown=effect.slowdown,
                sentence=_memory_sentence(effect),
                savings=savings,
            )
        )
    return Answer(phase=phase, sentence=_sentence(program, phase, rows), memories=rows)


def point_at(curve: Frontier, budget_bytes: float) -> int:
    """Return the last point of the frontier that fits `budget_bytes`: what the slider shows."""
    fits = [i for i, taken in enumerate(curve.near_bytes) if taken <= budget_bytes]
    return fits[-1] if fits else 0


def saving(curve: Frontier, share: float, effect: Effect, objects: list[ObjectFacts]) -> Saving:
    """Return what keeping the first objects near buys at `share` of the program's memory."""
    i = point_at(curve, share * curve.footprint_bytes)
    near = curve.order[: curve.steps[i]]
    by_gain = sorted(near, key=lambda number: -effect.added_ns[number][0])
    all_far = curve.time_ns[0][0]
    added = all_far - effect.near_time_ns.value
    saved = all_far - curve.time_ns[i][0]
    return Saving(
        budget_share=share,
        near_bytes=curve.near_bytes[i],
        near_objects=len(near),
        names=[objects[n].name for n in by_gain[:MOST_NAMES] if effect.added_ns[n][0] > 0],
        slowdown=_estimate(curve.slowdown[i]),
        time_ns=_estimate(curve.time_ns[i]),
        cost_relative=curve.cost_relative[i],
        saved_ns=saved,
        added_share_avoided=min(1.0, max(0.0, saved / added)) if added > 0 else 0.0,
    )


def _estimate(value: Triple) -> Estimate:
    return Estimate(*value)


def _memory_sentence(effect: Effect) -> str:
    slow = effect.slowdown
    per = effect.far_ns_per_operation
    if slow.value < HARDLY:
        words = f"hardly slower: {slow.value:.2f} times the time of near memory"
    else:
        words = f"{slow.value:.2f} times as long"
    words += f" (between {slow.low:.2f} and {slow.high:.2f})"
    if per is not None and effect.near_ns_per_operation is not None:
        near = format_ns(effect.near_ns_per_operation)
        return f"{words}; {format_ns(per.value)} per operation instead of {near}."
    near = format_ns(effect.near_time_ns.value)
    return f"{words}; {format_ns(effect.far_time_ns.value)} of CPU time instead of {near}."


def _sentence(program: str, phase: str, rows: list[MemoryAnswer]) -> str:
    where = "" if phase == TOTAL else f" in phase {phase}"
    if not rows:
        return f"Nothing was predicted for {program}{where}."
    best = min(rows, key=lambda row: row.slowdown.value)
    worst = max(rows, key=lambda row: row.slowdown.value)
    if worst.slowdown.value < HARDLY:
        head = (
            f"{program} would hardly notice far memory{where}: at most "
            f"{worst.slowdown.value:.2f} times the CPU time, on {worst.title}."
        )
    elif best is worst:
        head = (
            f"With all its data on {worst.title}, {program} takes "
            f"{worst.slowdown.value:.2f} times the CPU time{where}."
        )
    else:
        head = (
            f"With all its data far, {program} takes between {best.slowdown.value:.2f} times "
            f"({best.title}) and {worst.slowdown.value:.2f} times ({worst.title}) "
            f"the CPU time{where}."
        )
    useful = next(
        (s for s in worst.savings if s.added_share_avoided >= 0.5 or s is worst.savings[-1]), None
    )
    if worst.slowdown.value < HARDLY or useful is None or useful.saved_ns <= 0:
        return head
    several = "objects" if useful.near_objects != 1 else "object"
    return (
        f"{head} On the slowest, keeping {useful.near_objects} {several} near "
        f"({format_bytes(useful.near_bytes)}, within {useful.budget_share:.0%} of its memory) "
        f"brings that to {useful.slowdown.value:.2f} times."
    )
