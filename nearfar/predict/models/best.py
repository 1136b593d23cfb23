"""The default model: a simulated window fitted to near time, the inversion where none is plausible.

With bursts, the slowdown is the fitted window's (see the model `window`), as far as that window is
plausible: its weight falls from 1, where the core's figures take near time as they are, as the
unknowns must move away from them to take it. The inversion has the rest of the weight. The
slowdown is the geometric mean with these weights; nothing is switched. Without bursts all weight
is the inversion's.

The interval has the spread of far times among all windows that take near time, and as much of the
distance between window and inversion as their weights leave open. Two models bracket the inversion:
`chains` assumes that no miss is hidden, and `traffic` uses bandwidth alone (see `interval`).

Where part of the data is far, added time is divided among moved lines as the inversion does.

Where flushes were counted, the additional waits of fences are added: for lines to become durable,
and before that for lines that a store must fetch (see `fences`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, hypot, log, sqrt

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.core_window import HALF_RANGE
from nearfar.predict.fences import FencedStores, PersistWaits, persists
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, ModelLacksError, Perturbation
from nearfar.predict.models import inversion
from nearfar.predict.models.window import WindowModel, fitted, moved_share, require_bursts
from nearfar.predict.traffic import FENCE, Array, PhaseTraffic, misses

__doc__ = f"{__doc__}\n{inversion.__doc__}"  # The report prints how the default predicts.


@dataclass(frozen=True)
class _Blend:
    """The unperturbed window and inversion of one phase and far memory."""

    weight: float
    """Weight of the window's time against the inversion's, 0..1."""
    window_ns: float
    inversion_ns: float
    deviation: float
    """Logarithmic standard deviation of their mean."""
    remark: str

    @property
    def time_ns(self) -> float:
        """The weighted geometric mean."""
        return float(self.window_ns**self.weight * self.inversion_ns ** (1.0 - self.weight))


@MODELS.register("best")
class BestModel(inversion.InversionModel):
    """The fitted window where there are bursts and it is plausible, else the inversion."""

    name = "best"
    brackets = ("chains", "counters", "traffic")

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        super().prepare()
        self._remarks: list[str] = []
        self._blend = self._fitted_window()
        self._fenced = FencedStores(self) if self.phase.total[FENCE] > 0.0 else None
        if self._fenced is not None:
            self._remarks += self._fenced.remarks()
        self._persisting = self._persist_waits()

    def times_ns(self, moved: Array) -> Array:
        """Return the blended time plus fences' waits, ns."""
        time_ns = super().times_ns(moved)
        if self._blend is not None:
            scale, more_ns = self._added
            time_ns = self.near_time_ns + scale * (time_ns - self.near_time_ns)
            if more_ns != 0.0:
                share = moved_share(moved, self.phase, self.near, self.far)
                time_ns = time_ns + more_ns * share
        return self._with_fences(time_ns, moved)

    def times_to_cover_ns(self) -> list[float]:
        """Return the ends of fences' waits, ns."""
        moved = self.phase.total
        time_ns, times = float(self.times_ns(moved)), []
        if self._fenced is not None:
            unfenced_ns = time_ns - float(self._fenced.added_ns(moved))
            times += [max(unfenced_ns + end, 0.0) for end in self._fenced.ends_ns(moved)]
        if self._persisting is not None:
            unsynced_ns = time_ns - float(self._persisting.added_ns(moved))
            times += [max(unsynced_ns + end, 0.0) for end in self._persisting.ends_ns(moved)]
        return times

    def fitted_weight(self) -> float:
        """Return the fitted window's weight."""
        return 0.0 if self._blend is None else self._blend.weight

    def times_to_spread_ns(self) -> list[float]:
        """Return the ends of a 90 % interval of far times that near time does not determine, ns."""
        if self._blend is None:
            return []
        time_ns, end = float(self.times_ns(self.phase.total)), HALF_RANGE * self._blend.deviation
        return [time_ns * exp(-end), time_ns * exp(end)]

    def bound(self) -> Bound:
        """Return "latency" if waits of fences are more than half of the time, else as inverted."""
        waits_ns = 0.0 if self._fenced is None else self._fenced.far_ns()
        if waits_ns > 0.5 * float(self.times_ns(self.phase.total)):
            return "latency"
        return super().bound()

    def remarks(self) -> list[str]:
        """Return how the window was fitted, and what is left out, in sentences."""
        return self._remarks

    def _with_fences(self, time_ns: Array, moved: Array) -> Array:
        if self._fenced is not None:
            time_ns = time_ns + self._fenced.added_ns(moved)
        if self._persisting is not None:
            time_ns = time_ns + self._persisting.added_ns(moved)
        return np.asarray(np.maximum(time_ns, 0.0))

    def _fitted_window(self) -> _Blend | None:
        phase = self.phase
        if phase.bursts is None or self.far.is_near or self.near_time_ns <= 0.0:
            return None
        if float(misses(phase.total)) == 0.0:
            return None
        try:
            require_bursts(phase)
        except ModelLacksError as error:
            self._remarks.append(str(error))
            return None
        blend = _blend(phase, self.given_near, self.given_far)
        self._remarks.append(blend.remark)
        return blend

    @cached_property
    def _added(self) -> tuple[float, float]:
        """A factor on the time that the inversion adds, and a further time, ns.

        They make the time of everything far equal to the blend's. If the blend adds less than the
        inversion, a factor below 1 is enough. If the blend adds more, the factor is 1 and the
        difference is a further time. A factor could be very large if the inversion adds little for
        all lines, and would then multiply what it adds for a part of the lines.
        """
        if self._blend is None:
            return 1.0, 0.0
        inversion_ns = float(super().times_ns(self.phase.total))
        # Perturbed inputs change window and inversion equally; perturbed assumptions of the
        # inversion change only its part of the blend.
        weight = self._blend.weight * (not _perturbs_only_inputs(self.perturbation))
        changed = (inversion_ns / self._blend.inversion_ns) ** (1.0 - weight)
        time_ns = self._blend.time_ns * changed
        added_ns, by_inversion_ns = time_ns - self.near_time_ns, inversion_ns - self.near_time_ns
        if 0.0 <= added_ns <= by_inversion_ns or by_inversion_ns <= added_ns <= 0.0:
            return (added_ns / by_inversion_ns if by_inversion_ns else 1.0), 0.0
        return 1.0, added_ns - by_inversion_ns

    def _persist_waits(self) -> PersistWaits | None:
        if not persists(self.phase):
            return None
        try:
            waits = PersistWaits(self)
        except ModelLacksError as error:
            self._remarks.append(f"the waits of fences in far memory are left out: {error}")
            return None
        self._remarks += waits.remarks()
        return waits


def _perturbs_only_inputs(perturbation: Perturbation) -> bool:
    """Return whether figures and counts are perturbed, not the inversion's assumptions."""
    assumed = NO_PERTURBATION
    return (
        perturbation.hits == assumed.hits
        and perturbation.parallelism == assumed.parallelism
        and perturbation.streams_share == assumed.streams_share
        and perturbation.near_curves_hold == assumed.near_curves_hold
    )


@lru_cache(maxsize=1024)
def _blend(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> _Blend:
    """Return window and inversion with the window's weight.

    Results are cached by identity, because perturbed models need the same.
    """
    window = WindowModel(phase, near, far)
    assert window.fit is not None
    inverted = inversion.InversionModel(phase, near, far)
    inversion_ns = float(inverted.times_ns(inverted.phase.total))
    weight = window.fit.weight
    log_ratio = log(max(window.far_ns, 1e-9) / max(inversion_ns, 1e-9))
    deviation = hypot(
        weight * window.fit.spread(window.near, window.far),
        sqrt(weight * (1.0 - weight)) * log_ratio,
    )
    remark = fitted(phase.name, window.fit)
    return _Blend(weight, window.far_ns, inversion_ns, deviation, remark)
