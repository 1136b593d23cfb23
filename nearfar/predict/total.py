"""The whole run: the sum of its phases."""

from __future__ import annotations

from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.documents.prediction import ModelTime, ObjectEffect, PagesRatio, PhasePrediction

TOTAL = "total"


def total_of(phases: list[PhasePrediction], max_objects: int) -> PhasePrediction:
    """Return the sum of `phases`, called ``total``.

    The ends of intervals are added too, not joined as if independent: the uncertain inputs (the
    device, the host rule) are the same in all phases.
    """
    near = sum_estimates([phase.near_time_ns for phase in phases])
    far = sum_estimates([phase.far_time_ns for phase in phases])
    longest = max(phases, key=lambda phase: phase.far_time_ns.value)
    low = sum(phase.slowdown.low * phase.near_time_ns.value for phase in phases)
    high = sum(phase.slowdown.high * phase.near_time_ns.value for phase in phases)
    return PhasePrediction(
        phase=TOTAL,
        near_time_ns=near,
        far_time_ns=far,
        slowdown=Estimate(*(slowdown_over(time, near.value) for time in (far.value, low, high))),
        bound=longest.bound,
        effective_parallelism=longest.effective_parallelism,
        far_read_gb_per_s=_mean_rate(phases, [phase.far_read_gb_per_s for phase in phases]),
        far_write_gb_per_s=_mean_rate(phases, [phase.far_write_gb_per_s for phase in phases]),
        models=_models(phases, near.value),
        ratios=_ratios(phases, near.value),
        objects=_objects(phases, max_objects),
    )


def slowdown_over(time_ns: float, near_ns: float) -> float:
    """Return a time over near time; 1 where near time is 0."""
    return time_ns / near_ns if near_ns > 0 else 1.0


def _mean_rate(phases: list[PhasePrediction], rates: list[float]) -> float:
    times = [phase.far_time_ns.value for phase in phases]
    total = sum(times)
    moved = sum(rate * time for rate, time in zip(rates, times, strict=True))
    return moved / total if total > 0 else 0.0


def _ratios(phases: list[PhasePrediction], near_ns: float) -> list[PagesRatio]:
    times: dict[tuple[int, int], float] = {}
    for phase in phases:
        for ratio in phase.ratios:
            pages = (ratio.near_pages, ratio.far_pages)
            times[pages] = times.get(pages, 0.0) + ratio.time_ns
    return [
        PagesRatio(
            near_pages=near, far_pages=far, time_ns=time, slowdown=slowdown_over(time, near_ns)
        )
        for (near, far), time in times.items()
    ]


def _models(phases: list[PhasePrediction], near_ns: float) -> list[ModelTime]:
    """Return the sums of the models' times; leave out models that lack the time of a phase."""
    times: dict[str, list[float]] = {}
    for phase in phases:
        for model in phase.models:
            times.setdefault(model.model, []).append(model.time_ns)
    return [
        ModelTime(
            model=name, time_ns=(time := sum(of_phases)), slowdown=slowdown_over(time, near_ns)
        )
        for name, of_phases in times.items()
        if len(of_phases) == len(phases)
    ]


def _objects(phases: list[PhasePrediction], max_objects: int) -> list[ObjectEffect]:
    if len(phases) == 1:
        return phases[0].objects
    sums: dict[int, list[float]] = {}
    effects: dict[int, ObjectEffect] = {}
    for phase in phases:
        for effect in phase.objects:
            added, number = effect.added_ns, effect.object
            row = (added.value, added.low, added.high, effect.misses, effect.write_backs)
            before = sums.get(number)
            if before is None:
                sums[number], effects[number] = list(row), effect
            else:
                for at, value in enumerate(row):
                    before[at] += value
    greatest = sorted(sums, key=lambda number: -sums[number][0])[:max_objects]
    return [
        ObjectEffect(
            object=number,
            name=effects[number].name,
            size_bytes=effects[number].size_bytes,
            added_ns=Estimate(*sums[number][:3]),
            misses=sums[number][3],
            write_backs=sums[number][4],
        )
        for number in greatest
    ]
