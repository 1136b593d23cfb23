"""The default model: the inversion, and with bursts the geometric mean of it and the window.

On the cycle-level core no other model without bursts, nor any mean with one, is better than the
inversion on either half of the kernels: their errors are two to ten times as large where latency
grows. So without bursts the value is the inversion's. Two models bracket it: `chains` assumes that
no miss is hidden, and `traffic` uses bandwidth alone. Where they are far apart, more depends on
what the inversion assumes to be hidden, and its interval reaches part of the way to both (see
`interval`).

With bursts, where the window takes about the measured near time, the slowdown is the geometric mean
of the window's and the inversion's. The window knows the dependences and assumes the core, the
inversion knows near time and assumes the dependences, and on that core their errors mostly have
opposite signs. The mean and its equal weights were chosen with those ten kernels in view; nothing
was fitted to them. The interval covers both.

Where flushes were counted, the additional waits of fences are added: for lines to become durable,
and before that for lines that a store must fetch (see `fences`).
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.fences import FencedStores, PersistWaits, persists
from nearfar.predict.model import MODELS, NO_PERTURBATION, ModelLacksError
from nearfar.predict.models import inversion
from nearfar.predict.models.window import TRUSTED, WindowModel
from nearfar.predict.traffic import Array

__doc__ = f"{__doc__}\n{inversion.__doc__}"  # The report prints how the default predicts.


@MODELS.register("best")
class BestModel(inversion.InversionModel):
    """The inversion between its brackets; its mean with the window where there are bursts."""

    name = "best"
    brackets = ("chains", "counters", "traffic")

    def prepare(self) -> None:
        """Compute what is the same for all placements."""
        super().prepare()
        self._remarks: list[str] = []
        self._window = self._trusted_window()
        self._fenced = FencedStores(self)
        self._remarks += self._fenced.remarks()
        self._persisting = self._persist_waits()

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time, or its mean with the window's, plus fences' waits, ns."""
        time_ns = super().times_ns(moved)
        if self._window is not None:
            time_ns = np.sqrt(time_ns * np.maximum(self._window.times_ns(moved), 0.0))
        return self._with_fences(time_ns, moved)

    def times_to_cover_ns(self) -> list[float]:
        """Return the inversion's and the window's times, and the ends of fences' waits, ns."""
        moved = self.phase.total
        time_ns, added_ns = float(self.times_ns(moved)), float(self._fenced.added_ns(moved))
        times = [max(time_ns - added_ns + end, 0.0) for end in self._fenced.ends_ns(moved)]
        if self._persisting is not None:
            unsynced_ns = time_ns - float(self._persisting.added_ns(moved))
            times += [max(unsynced_ns + end, 0.0) for end in self._persisting.ends_ns(moved)]
        if self._window is not None:
            both = (super().times_ns(moved), self._window.times_ns(moved))
            times += [float(self._with_fences(time_ns, moved)) for time_ns in both]
        return times

    def bound(self) -> Bound:
        """Return latency where fences wait for most of the time, else the inversion's bound."""
        waits_ns = self._fenced.far_ns()
        if waits_ns > 0.5 * float(self.times_ns(self.phase.total)):
            return "latency"
        return super().bound()

    def remarks(self) -> list[str]:
        """Return what is combined with the inversion, and what is left out, in sentences."""
        return self._remarks

    def _with_fences(self, time_ns: Array, moved: Array) -> Array:
        time_ns = time_ns + self._fenced.added_ns(moved)
        if self._persisting is not None:
            time_ns = time_ns + self._persisting.added_ns(moved)
        return np.asarray(np.maximum(time_ns, 0.0))

    def _trusted_window(self) -> WindowModel | None:
        """Return the window where it takes about near time.

        Perturbations do not change whether it does: an interval is that of one rule.
        """
        phase = self.phase
        if phase.bursts is None or self.far.is_near:
            return None
        try:
            plain = WindowModel(phase, self.given_near, self.given_far)
        except ModelLacksError as error:
            self._remarks.append(str(error))
            return None
        ratio = plain.simulated_over_near
        if ratio is None:
            return None
        if not TRUSTED[0] <= ratio <= TRUSTED[1]:
            self._remarks.append(
                f"phase {phase.name!r}: the simulated window over the bursts takes {ratio:.2g} "
                f"times near time, expected {TRUSTED[0]:g} to {TRUSTED[1]:g}, and is left out"
            )
            return None
        if self.perturbation != NO_PERTURBATION:
            return WindowModel(phase, self.given_near, self.given_far, self.perturbation)
        slowdowns = [
            float(times_ns(phase.total)) / self.near_time_ns
            for times_ns in (plain.times_ns, super().times_ns)
        ]
        self._remarks.append(
            f"phase {phase.name!r}: the slowdown is the geometric mean of {slowdowns[0]:.2f} (the "
            f"simulated window over the bursts) and {slowdowns[1]:.2f} (near time, inverted)"
        )
        return plain

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
