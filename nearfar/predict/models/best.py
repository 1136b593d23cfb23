"""The inversion, with bursts the geometric mean of it and the window: the default.

On the cycle-level core no other model that needs no bursts is better than the inversion on either
half of the kernels, nor any mean with one: all others miss by two to ten times as much where
latency grows. So without bursts nothing is mixed into its value. Two of them bracket it, though:
`chains` takes no miss for hidden, and `traffic` knows bandwidth alone. Where they are far apart,
more hangs on what the inversion takes for hidden, and its interval reaches a part of the way to
both (see `interval`).

With bursts, where the window takes about the near time that was measured, the slowdown is the
geometric mean of the window's and the inversion's: one knows what depends on what and guesses the
core, the other has near time and guesses the dependences, and on that core they err in mostly
opposite directions. The mean and its equal weights were chosen in sight of those ten kernels;
nothing was fitted to them. The interval holds both.

Where flushes were counted, what fences wait longer is added: for lines to become durable (see
`persisting`), and before that for those that a store must fetch (see `fenced_stores`).
"""

from __future__ import annotations

import numpy as np

from nearfar.documents.prediction import Bound
from nearfar.predict.fenced_stores import FencedStores
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, ModelLacksError, Perturbation
from nearfar.predict.models import inversion
from nearfar.predict.models.window import TRUSTED, WindowModel
from nearfar.predict.persisting import Persisting, persists
from nearfar.predict.traffic import Array, PhaseTraffic

__doc__ = f"{__doc__}\n{inversion.__doc__}"  # The report prints how the default predicts.


@MODELS.register("best")
class BestModel(inversion.InversionModel):
    """The inversion between its brackets; the window's mean with it where there are bursts."""

    name = "best"
    brackets = ("chains", "counters", "traffic")

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, doubt)
        self._said: list[str] = []
        self._window = self._trusted_window()
        self._fenced = FencedStores(self)
        self._said += self._fenced.remarks()
        self._persisting = self._persisting_if_known()

    def times_ns(self, moved: Array) -> Array:
        """Return the inversion's time, or its mean with the window's, and fences' waits, ns."""
        time_ns = super().times_ns(moved)
        if self._window is not None:
            time_ns = np.sqrt(time_ns * np.maximum(self._window.times_ns(moved), 0.0))
        return self._with_fences(time_ns, moved)

    def must_hold_ns(self) -> list[float]:
        """Return what the inversion and the window say of everything far, where both count, ns."""
        moved = self.phase.total
        time_ns, added_ns = float(self.times_ns(moved)), float(self._fenced.added_ns(moved))
        found = [max(time_ns - added_ns + end, 0.0) for end in self._fenced.ends_ns(moved)]
        if self._persisting is not None:
            unsynced_ns = time_ns - float(self._persisting.added_ns(moved))
            found += [max(unsynced_ns + end, 0.0) for end in self._persisting.ends_ns(moved)]
        if self._window is not None:
            both = (super().times_ns(moved), self._window.times_ns(moved))
            found += [float(self._with_fences(time_ns, moved)) for time_ns in both]
        return found

    def bound(self) -> Bound:
        """As the inversion; latency where waits of fences for far memory are most of the time."""
        waits_ns = self._fenced.far_ns()
        if waits_ns > 0.5 * float(self.times_ns(self.phase.total)):
            return "latency"
        return super().bound()

    def remarks(self) -> list[str]:
        """Say what beside the inversion is in it, and what of the profile is not."""
        return self._said

    def _with_fences(self, time_ns: Array, moved: Array) -> Array:
        time_ns = time_ns + self._fenced.added_ns(moved)
        if self._persisting is not None:
            time_ns = time_ns + self._persisting.added_ns(moved)
        return np.asarray(np.maximum(time_ns, 0.0))

    def _trusted_window(self) -> WindowModel | None:
        """Return the window where it takes about near time. Doubts do not change whether it does:
        an interval is of one rule.
        """
        phase = self.phase
        if phase.bursts is None or self.far.is_near:
            return None
        try:
            plain = WindowModel(phase, self.given_near, self.given_far)
        except ModelLacksError as lack:
            self._said.append(str(lack))
            return None
        ratio = plain.simulated_over_near
        if ratio is None:
            return None
        if not TRUSTED[0] <= ratio <= TRUSTED[1]:
            self._said.append(
                f"phase {phase.name!r}: a simulated window over the bursts takes {ratio:.2g} times "
                "near time, which is not this program's, and is left out"
            )
            return None
        if self.doubt != NO_PERTURBATION:
            return WindowModel(phase, self.given_near, self.given_far, self.doubt)
        of_both = [
            float(times_ns(phase.total)) / self.near_time_ns
            for times_ns in (plain.times_ns, super().times_ns)
        ]
        self._said.append(
            f"phase {phase.name!r}: the geometric mean of {of_both[0]:.2f} (a simulated window "
            f"over the bursts) and {of_both[1]:.2f} (near time, inverted)"
        )
        return plain

    def _persisting_if_known(self) -> Persisting | None:
        if not persists(self.phase):
            return None
        try:
            found = Persisting(self)
        except ModelLacksError as lack:
            self._said.append(f"what fences wait for in far memory is left out: {lack}")
            return None
        self._said += found.remarks()
        return found
