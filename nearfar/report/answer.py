"""The headline in plain words: the slowdown, the objects to keep near, the time that this saves."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.report.data import (
    TOTAL,
    UNMARKED,
    Effect,
    MemoryAnswer,
    MemoryFacts,
    ObjectFacts,
    PhaseEffect,
    ReportAnswer,
    ReportChoice,
    ReportData,
    ReportSaving,
)
from nearfar.report.words import NARROW, percent_text, time_text

SHARES = (0.10, 0.25, 0.50)
"""Budgets of the headline, as parts of the program's memory."""
MAX_NAMES = 3
"""Objects named in one row."""
NAMED_SHARE = 0.9
"""Share of the time saved by all near objects at which no further object is named."""
MIN_CARRIED_SHARE = 0.5
"""Share of the added time from which one object is named as its cause."""
MAX_ROUNDING = 1e-9
"""Share of far time below which two times differ only by rounding."""
MIN_SLOWDOWN = 1.02
"""Slowdown below which the page says "hardly"; near time varies by as much."""


def answer(
    *,
    program: str,
    phase: str,
    memories: list[MemoryFacts],
    effects: dict[tuple[str, str], Effect],
    choices: list[ReportChoice],
    objects: list[ObjectFacts],
    observed: bool = True,
    whole: str = "",
) -> ReportAnswer:
    """Return the headline of `phase` for every far memory.

    `observed`: whether any access of the program was observed. If not, only the ends of the
    slowdown's interval are known. `whole`: the name of the program of which `program` is the
    observed part; empty if all of the program was observed.
    """
    rows: list[MemoryAnswer] = []
    for memory in memories:
        effect = effects.get((memory.name, phase))
        if effect is None:
            continue
        own_choices = [c for c in choices if (c.memory, c.phase) == (memory.name, phase)]
        savings = [saving(choice, effect, objects) for choice in own_choices]
        rows.append(
            MemoryAnswer(
                memory=memory.name,
                title=memory.title,
                latency_taken=memory.latency_taken,
                faster=memory.faster,
                slowdown=effect.slowdown,
                sentence=_memory_sentence(effect) if observed else _range_sentence(effect),
                phases=_phases(memory.name, effects) if phase == TOTAL else [],
                savings=sorted(savings, key=lambda row: row.budget_bytes),
            )
        )
    dominant_sentences = {
        row.memory: _dominant_object_sentence(effects[(row.memory, phase)], objects, row.savings)
        for row in rows
    }
    sentence = _sentence(program, phase, rows, dominant_sentences)
    if not observed and rows:
        sentence = _unobserved_sentence(program, phase, rows)
    elif whole and phase == TOTAL and rows:
        sentence += f" {_whole_sentence(whole, rows)}"
    return ReportAnswer(phase=phase, sentence=sentence, memories=rows)


def _phases(memory: str, effects: dict[tuple[str, str], Effect]) -> list[PhaseEffect]:
    """Return the marked phases on `memory`, in the order of the run."""
    return [
        PhaseEffect(
            phase=name,
            slowdown=effect.slowdown,
            near_ns_per_operation=effect.near_ns_per_operation,
            far_ns_per_operation=effect.far_ns_per_operation,
        )
        for (of, name), effect in effects.items()
        if of == memory and name not in (TOTAL, UNMARKED)
    ]


def opening_sentences(data: ReportData) -> list[str]:
    """Return what is said first about a report's first phase: one sentence, or two."""
    sentences = [part.sentence for part in data.answers if part.phase == data.first_phase]
    if data.busy_server is not None and data.first_phase == TOTAL:
        sentences.append(data.busy_server.sentence)
    return sentences


def saving(choice: ReportChoice, effect: Effect, objects: list[ObjectFacts]) -> ReportSaving:
    """Return the row of the plan `choice`: its slowdown, and the added time that it avoids."""
    footprint = choice.footprint_bytes
    added = effect.far_time_ns.value - effect.near_time_ns.value
    saved = effect.far_time_ns.value - choice.plan.time_ns.value
    if abs(saved) <= MAX_ROUNDING * effect.far_time_ns.value:
        saved = 0.0
    return ReportSaving(
        budget_bytes=choice.budget_bytes,
        budget_share=choice.budget_bytes / footprint if footprint else 0.0,
        near_bytes=choice.plan.near_bytes,
        near_objects=len(choice.near),
        names=[objects[number].short for number in _most_helpful(choice, effect)],
        slowdown=choice.plan.slowdown,
        time_ns=choice.plan.time_ns,
        cost_relative=choice.plan.cost_relative,
        saved_ns=saved,
        added_share_avoided=min(1.0, max(0.0, saved / added)) if added > 0 else 0.0,
    )


def _most_helpful(choice: ReportChoice, effect: Effect) -> list[int]:
    """Return the few objects that give nearly all of the plan's benefit, largest benefit first."""
    added = {number: effect.added_ns[number][0] for number in choice.near}
    enough = NAMED_SHARE * sum(ns for ns in added.values() if ns > 0)
    best: list[int] = []
    for number, ns in added.items():
        if ns <= 0 or len(best) == MAX_NAMES or sum(added[each] for each in best) >= enough:
            break
        best.append(number)
    return best


def _memory_sentence(effect: Effect) -> str:
    slow = effect.slowdown
    per = effect.far_ns_per_operation
    words = f"between {slow.low:.2f} and {slow.high:.2f} times the CPU time"
    if slow.value < MIN_SLOWDOWN:
        words = f"{'hardly' if slow.value > 1 else 'no'} slower: {words}"
    if per is not None and effect.near_ns_per_operation is not None:
        near = time_text(effect.near_ns_per_operation)
        return f"{words}; {time_text(per.value)} per operation instead of {near}."
    near = time_text(effect.near_time_ns.value)
    return f"{words}; {time_text(effect.far_time_ns.value)} instead of {near}."


def _range_sentence(effect: Effect) -> str:
    slow = effect.slowdown
    return (
        f"between {slow.low:.2f} and {slow.high:.2f} times the CPU time: no access was observed, "
        "and any share of it may be waiting for memory."
    )


def _interval_ends(rows: list[MemoryAnswer]) -> tuple[float, float]:
    """Return the lowest and the highest end of all slowdown intervals."""
    return min(row.slowdown.low for row in rows), max(row.slowdown.high for row in rows)


def _unobserved_sentence(program: str, phase: str, rows: list[MemoryAnswer]) -> str:
    where = "" if phase == TOTAL else f" in phase {phase}"
    low, high = _interval_ends(rows)
    return (
        f"{program} takes between {low:.2f} and {high:.2f} times the CPU time{where} with all its "
        "data far: none of its accesses could be observed, so the range cannot be narrower."
    )


def _slower(rows: list[MemoryAnswer]) -> list[MemoryAnswer]:
    """Return the rows of memories slower than near memory; all rows if there are none."""
    return [row for row in rows if not row.faster] or rows


def _whole_sentence(whole: str, rows: list[MemoryAnswer]) -> str:
    rows = _slower(rows)
    low, high = _interval_ends(rows)
    if len(rows) == 1:
        place, span = f"on {rows[0].title}", f"between {low:.2f} and {high:.2f} times its CPU time"
    else:
        place, span = "far", f"{low:.2f} to {high:.2f} times its CPU time, depending on the memory"
    return f"With all its data {place}, all of {whole} takes {span}."


def _sentence(
    program: str, phase: str, rows: list[MemoryAnswer], dominant_sentences: dict[str, str]
) -> str:
    """Return two sentences: the range of slowdowns, and the smallest budget that saves half."""
    where = "" if phase == TOTAL else f" in phase {phase}"
    if not rows:
        return f"Nothing was predicted for {program}{where}: its profile has no measured phase."
    rows = _slower(rows)
    best = min(rows, key=lambda row: row.slowdown.value).slowdown.value
    worst = max(rows, key=lambda row: row.slowdown.value)
    slowest = worst.slowdown.value
    if slowest < MIN_SLOWDOWN:
        return (
            f"{program} would hardly notice far memory{where}: "
            f"at most {slowest:.2f} times the CPU time, on {worst.title}."
        )
    span = f"{best:.2f} to {slowest:.2f}" if len(rows) > 1 else f"{slowest:.2f}"
    place = "far" if len(rows) > 1 else f"on {worst.title}"
    head = f"{program} takes {span} times the CPU time{where} with all its data {place}"
    hardest = max(worst.phases, key=lambda part: part.slowdown.value, default=None)
    if hardest is not None and hardest.slowdown.value > slowest * MIN_SLOWDOWN:
        head += f", phase {hardest.phase} up to {hardest.slowdown.value:.2f}"
    head += "."
    useful = next((row for row in worst.savings if row.added_share_avoided >= 0.5), None)
    if useful is None:
        return f"{head} {dominant_sentences[worst.memory] or _no_saving_sentence(worst)}"
    several = f"{useful.near_objects} objects" if useful.near_objects != 1 else "one object"
    part = percent_text(useful.near_bytes / _footprint(useful))
    return (
        f"{head} Keeping {several} near, {part} of its bytes, "
        f"brings {slowest:.2f} down to {useful.slowdown.value:.2f}."
    )


def _footprint(row: ReportSaving) -> float:
    return row.budget_bytes / row.budget_share if row.budget_share else 1.0


def _dominant_object_sentence(
    effect: Effect, objects: list[ObjectFacts], savings: list[ReportSaving]
) -> str:
    """Return a sentence about an object that adds most of the time but fits no budget, or ""."""
    added = effect.far_time_ns.value - effect.near_time_ns.value
    if added <= 0 or not savings or not objects:
        return ""
    number = max(range(len(objects)), key=lambda n: effect.added_ns[n][0])
    most, owner, last = effect.added_ns[number][0], objects[number], savings[-1]
    if most < MIN_CARRIED_SHARE * added or owner.size_bytes <= last.budget_bytes:
        return ""
    size = format_bytes(owner.size_bytes).replace(" ", NARROW)
    footprint = sum(owner.size_bytes for owner in objects)
    return (
        f"One object of {size} ({owner.short}) causes {percent_text(min(1.0, most / added))} of "
        f"the added time, and with {percent_text(owner.size_bytes / footprint)} of the bytes it "
        f"does not fit the largest budget, {percent_text(last.budget_share)}."
    )


def _no_saving_sentence(worst: MemoryAnswer) -> str:
    if not worst.savings:
        return "No plan was computed."
    last = worst.savings[-1]
    return (
        f"No few objects cause it: even {percent_text(last.budget_share)} of its bytes near "
        f"leave {last.slowdown.value:.2f}."
    )
