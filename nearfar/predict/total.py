"""The whole run: the sum of its phases."""

from __future__ import annotations

from nearfar.base.estimate import Estimate
from nearfar.documents.prediction import ModelTime, ObjectEffect, PagesRatio, PhasePrediction

TOTAL = "total"


def total_of(phases: list[PhasePrediction], most_objects: int) -> PhasePrediction:
    """Return the sum of `phases`, called ``total``.

    Ends of intervals are added too, not joined as if independent: what is uncertain (the
    device, the rule) is the same in all phases.
    """
    near = sum_estimates([phase.near_time_ns for phase in phases])
    far = sum_estimates([phase.far_time_ns for phase in phases])
    longest = max(phases, key=lambda phase: phase.far_time_ns.value)

    def per_near(value: float) -> float:
        return value / near.value if near.value > 0 else 1.0

    slowdown_low = sum(phase.slowdown.low * phase.near_time_ns.value for phase in phases)
    slowdown_high = sum(phase.slowdown.high * phase.near_time_ns.value for phase in phases)
    return PhasePrediction(
        phase=TOTAL,
        near_time_ns=near,
        far_time_ns=far,
        slowdown=Estimate(per_near(far.value), per_near(slowdown_low), per_near(slowdown_high)),
        bound=longest.bound,
        effective_parallelism=longest.effective_parallelism,
        far_read_gb_per_s=_mean_rate(phases, [phase.far_read_gb_per_s for phase in phases]),
        far_write_gb_per_s=_mean_rate(phases, [phase.far_write_gb_per_s for phase in phases]),
        models=_models(phases, near.value),
        ratios=_ratios(phases, near.value),
        objects=_objects(phases, most_objects),
    )


def sum_estimates(estimates: list[Estimate]) -> Estimate:
    """Return the sum of values, of lows, of highs."""
    return Estimate(
        sum(estimate.value for estimate in estimates),
        sum(estimate.low for estimate in estimates),
        sum(estimate.high for estimate in estimates),
    )


def _mean_rate(phases: list[PhasePrediction], rates: list[float]) -> float:
    times = [phase.far_time_ns.value for phase in phases]
    whole = sum(times)
    moved = sum(rate * time for rate, time in zip(rates, times, strict=True))
    return moved / whole if whole > 0 else 0.0


def _ratios(phases: list[PhasePrediction], near_ns: float) -> list[PagesRatio]:
    times: dict[tuple[int, int], float] = {}
    for phase in phases:
        for one in phase.ratios:
            pages = (one.near_pages, one.far_pages)
            times[pages] = times.get(pages, 0.0) + one.time_ns
    return [
        PagesRatio(
            near_pages=near,
            far_pages=far,
            time_ns=time,
            slowdown=time / near_ns if near_ns > 0 else 1.0,
        )
        for (near, far), time in times.items()
    ]


def _models(phases: list[PhasePrediction], near_ns: float) -> list[ModelTime]:
    times: dict[str, float] = {}
    counted: dict[str, int] = {}
    for phase in phases:
        for model in phase.models:
            times[model.model] = times.get(model.model, 0.0) + model.time_ns
            counted[model.model] = counted.get(model.model, 0) + 1
    # A model that lacked something for one phase has no whole.
    times = {name: time for name, time in times.items() if counted[name] == len(phases)}
    return [
        ModelTime(model=name, time_ns=time, slowdown=time / near_ns if near_ns > 0 else 1.0)
        for name, time in times.items()
    ]


def _objects(phases: list[PhasePrediction], most: int) -> list[ObjectEffect]:
    if len(phases) == 1:
        return phases[0].objects
    added: dict[int, list[float]] = {}
    effects: dict[int, ObjectEffect] = {}
    for phase in phases:
        for effect in phase.objects:
            part, number = effect.added_ns, effect.object
            row = (part.value, part.low, part.high, effect.misses, effect.write_backs)
            before = added.get(number)
            if before is None:
                added[number], effects[number] = list(row), effect
            else:
                for at, value in enumerate(row):
                    before[at] += value
    greatest = sorted(added, key=lambda number: -added[number][0])[:most]
    return [
        ObjectEffect(
            object=number,
            name=effects[number].name,
            size_bytes=effects[number].size_bytes,
            added_ns=Estimate(*added[number][:3]),
            misses=added[number][3],
            write_backs=added[number][4],
        )
        for number in greatest
    ]
