"""All figures of a core: probe after probe, each with its interval or the reason."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from nearfar.devices.cores import core_of_processor
from nearfar.documents import MachineProfile, load
from nearfar.documents.core import CoreFigure, CoreFigures
from nearfar.documents.device import Source
from nearfar.documents.machine import Cache
from nearfar.machine.read import read_machine
from nearfar.measure.core.infer import figure_of
from nearfar.measure.core.probes import PROBES, CoreProbes
from nearfar.measure.core.simulated import SimulatedCore
from nearfar.measure.core.subject import CoreLacksError, CoreSubject, NativeCore
from nearfar.memories import topology

SIZES = (
    "reorder_window",
    "load_buffer",
    "store_buffer",
    "miss_buffers",
    "integer_registers",
    "vector_registers",
    "flag_registers",
)
"""Figures that count entries. Neighbours on other cores do not change them, but another hardware
thread of the same core does: processors divide some buffers between two busy threads."""

SIZE_PROBES = [probe for probe in PROBES if set(probe[2]) & set(SIZES)]

ROUNDS = 3
"""Number of times that a real core's sizes are probed, because the core's other hardware thread may
be idle in one of them."""

SHARED_SIZES = ("reorder_window", "load_buffer", "store_buffer")
"""Sizes that processors divide between two hardware threads."""

HALF_WITHIN = 0.15
"""Relative difference up to which a size is half of the published one."""

SAME = 0.05
"""Relative difference up to which two runs agree although their intervals do not overlap."""

DURATION_S = 40
"""Time that a core takes on an idle machine, about."""


def measure_core(
    core: CoreSubject,
    caches: Sequence[Cache] = (),
    threads_per_core: int = 1,
    progress: Callable[[str, float], None] = lambda _what, _share: None,
    *,
    rounds: int = 1,
) -> CoreFigures:
    """Return all figures of a core, and why others were not seen.

    The sizes of the machine's `caches` select the regions in which cache latencies are probed. The
    core's sizes (`SIZES`) are probed `rounds` times, and their intervals cover all rounds.
    """
    probes = CoreProbes(core, caches, threads_per_core)
    steps = [(probes, probe) for probe in PROBES]
    others = [CoreProbes(core, caches, threads_per_core) for _ in range(rounds - 1)]
    steps += [(other, probe) for other in others for probe in SIZE_PROBES]
    for done, (target, (what, probe, keys)) in enumerate(steps):
        progress(f"core: {what}", done / len(steps))
        try:
            probe(target)
        except CoreLacksError as error:
            target.not_seen |= dict.fromkeys(keys, str(error))
    for key in SIZES:
        seen = [each.figures[key] for each in (probes, *others) if key in each.figures]
        if seen:
            probes.figures[key] = _merged(seen)
            probes.not_seen.pop(key, None)
    return CoreFigures(
        name="here",
        title="Measured by nearfar",
        sources={"nearfar": Source(citation="nearfar measure core")},
        page_walks=probes.walks,
        not_seen=dict(sorted(probes.not_seen.items())),
        **probes.figures,  # type: ignore[arg-type]
    )


def measure_this_core(
    machine: MachineProfile, progress: Callable[[str, float], None] = lambda _what, _share: None
) -> CoreFigures:
    """Return the figures of this machine's core.

    Raises CoreLacksError where nothing can be measured.
    """
    core = NativeCore(topology.detect())
    figures = measure_core(core, machine.caches, machine.threads_per_core, progress, rounds=ROUNDS)
    published = core_of_processor(machine.cpu_model, machine.cpu_id)
    return figures if published is None else with_whole_sizes(figures, published)


def with_whole_sizes(figures: CoreFigures, published: CoreFigures) -> CoreFigures:
    """Return the figures; the interval of a size that is half the published one reaches the latter.

    Half the size means that the core's other hardware thread was always busy; it may be idle later.
    """
    wider: dict[str, CoreFigure] = {}
    for key in SHARED_SIZES:
        seen, whole = getattr(figures, key), getattr(published, key)
        if seen is None or whole is None or seen.range[1] >= whole.value:
            continue
        if abs(2.0 * seen.value / whole.value - 1.0) <= HALF_WITHIN:
            note = (
                f"half of the published {whole.value:g}: another hardware thread of this core was "
                "busy"
            )
            wider[key] = msgspec.structs.replace(seen, high=whole.value, note=note)
    return msgspec.structs.replace(figures, **wider)


def _merged(seen: Sequence[CoreFigure]) -> CoreFigure:
    """Return the middle of a size's figures from several rounds, with an interval over all."""
    middle = sorted(seen, key=lambda figure: figure.value)[len(seen) // 2]
    least, most = (pick(figure.value for figure in seen) for pick in (min, max))
    note = middle.note
    if most > (1.0 + SAME) * least:
        note = (
            f"{least:g} to {most:g} in {len(seen)} rounds: another hardware thread of this core "
            "may have been busy in some"
        )
    ends = min(figure.range[0] for figure in seen), max(figure.range[1] for figure in seen)
    return figure_of(middle.value, ends, note=note)


def disagreements(first: CoreFigures, second: CoreFigures) -> list[str]:
    """Return the sizes on which two measurements of a core differ, in sentences."""
    sentences = []
    for key in SIZES:
        before, after = first.figures().get(key), second.figures().get(key)
        if before is None or after is None:
            if before is not after:
                sentences.append(f"{key} is seen in one of two runs")
            continue
        apart = max(before.range[0], after.range[0]) > min(before.range[1], after.range[1])
        if apart and abs(after.value / before.value - 1.0) > SAME:
            sentences.append(f"{key} is {before.value:g} in one run, {after.value:g} in the other")
    return sentences


def measured_machine(
    path: Path | None, progress: Callable[[str, float], None]
) -> tuple[MachineProfile, CoreFigures]:
    """Return this machine with its core, measured now, and the core.

    Other measurements are those of the machine profile at `path` if it is this machine's.
    """
    machine = read_machine()
    if path is not None and path.is_file():
        before = load(path, MachineProfile)
        if before.cpu_model == machine.cpu_model and before.caches == machine.caches:
            machine = before
    figures = measure_this_core(machine, progress)
    machine.core = figures
    return machine, figures


def simulated_cores(seed: int, count: int = 3) -> list[SimulatedCore]:
    """Return cores with random sizes from the range of the last fifteen years' cores."""
    dice = random.Random(seed)
    widths = [dice.randint(2, 10) for _ in range(count)]
    return [
        SimulatedCore(
            window=dice.randint(24, 80) * width,  # it fills in so many cycles
            store_buffer=dice.randint(16, 40),
            miss_buffers=dice.randint(8, 48),
            width=float(width),
            mispredicted=float(dice.randint(8, 24)),
            multiply_cycles=dice.randint(2, 5),
            seed=seed,
        )
        for width in widths
    ]


def self_test(core: SimulatedCore) -> list[tuple[str, float, CoreFigure | None]]:
    """Return figures of a simulated core: key, truth, and what the inference gives (None: none)."""
    inferred = measure_core(core).figures()
    truths = {
        "reorder_window": core.window,
        "store_buffer": core.store_buffer,
        "miss_buffers": core.miss_buffers,
        "width": core.width,
        "mispredict_cycles": core.mispredicted,
        "integer_multiply_cycles": core.multiply_cycles,
    }
    return [(key, float(truth), inferred.get(key)) for key, truth in truths.items()]


def within_one_step(truth: float, figure: CoreFigure | None) -> bool:
    """Return whether a figure is the truth: sizes to one entry, times to one cycle."""
    return figure is not None and abs(figure.value - truth) <= 1.0
