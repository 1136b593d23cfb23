"""One placement task: whole objects by an optimiser, then the extensions that `--allow` permits."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile
from nearfar.options.place import Allowed
from nearfar.place.capacity import capacity_limits
from nearfar.place.interleaving import interleaved
from nearfar.place.optimiser import OPTIMISERS, PlacementChoice
from nearfar.place.parts import filled_up, has_small_blocks, splittable, whole_weights, with_parts
from nearfar.place.problem import Problem
from nearfar.place.ranges import RangedProblem, ranged_problem
from nearfar.place.search import best_of
from nearfar.predict.traffic import Array

MAX_OBJECTS_INTERLEAVED_OFTEN = 1000
"""Most objects for which the search for a goal tries interleaving at every step: each try times
some eighty placements."""

MIN_SHOWN_SHARE = 0.0005
"""Least saving, as a share of the time, that is printed: smaller ones would read 0.0 %."""

ROUNDING = 1e-9
"""Share of the time that two sums of the same terms may differ by."""

MIN_RANGES_SHARE = 0.02
"""Share of far memory's added time that placement by range must save."""

WHOLE_DO_NOT_FIT = "objects are near in part: whole ones do not fit these capacities"

MIN_HINT_SHARE = 0.02
"""Share of the time that an extension must save to be suggested."""

BARS = (
    "all-near",
    "all-far",
    "page-interleaved",
    "bandwidth-interleaved",
    "hot-first",
    "x-mem",
    "greedy",
    "exact",
)
"""Optimisers whose choices every plan shows."""

INTERLEAVED = ("page-interleaved", "bandwidth-interleaved")
"""Bars that divide every object: no plan with parts is slower."""

EXTENSIONS = ("parts", "interleave", "moves")
"""Extensions that --allow all permits."""


@dataclass(frozen=True, eq=False)
class ExtendedShares:
    """Shares of all objects, some of them in several memories."""

    shares: Array
    """(objects, memories)."""
    weights: dict[int, tuple[int, ...]]
    """Weights by memory of each interleaved object."""
    ranges: RangedShares | None = None
    """Shares of ranges if ranges of an object are in different memories, else None; `shares` has
    the sums over ranges."""

    def timed(self, problem: Problem) -> tuple[Problem, Array]:
        """Return the problem and the shares that give the time of this placement."""
        if self.ranges is None:
            return problem, self.shares
        return self.ranges.ranged.problem, self.ranges.shares

    def time_ns(self, problem: Problem) -> float:
        """Return the time of this placement."""
        timed, shares = self.timed(problem)
        return float(timed.shared_times_ns(shares))


@dataclass(frozen=True, eq=False)
class RangedShares:
    """Shares of ranges of objects."""

    ranged: RangedProblem
    shares: Array
    """(rows, memories)."""


@dataclass(frozen=True, eq=False)
class PlaceTask:
    """A problem with the optimiser and the extensions of its plan."""

    problem: Problem
    workload: WorkloadProfile
    optimiser: str
    allow: AbstractSet[str]
    sentences: tuple[str, ...] = ()
    """Sentences about the task for the plan."""
    _bars: dict[int, dict[str, PlacementChoice]] = field(default_factory=dict)
    """Choices by budget; tasks that differ in `allow` only share this cache and the next one."""
    _extended: dict[tuple[int, frozenset[str]], ExtendedShares] = field(default_factory=dict)

    @cached_property
    def can_split(self) -> NDArray[np.bool_]:
        """Whether each object's pages can be in several memories."""
        return splittable(self.workload)

    @cached_property
    def can_interleave(self) -> NDArray[np.bool_]:
        """Whether each object consists of small blocks whose pages can be interleaved."""
        return has_small_blocks(self.workload)

    @cached_property
    def ranged(self) -> RangedProblem | None:
        """The problem by ranges of objects; None where no object has ranges that differ."""
        return ranged_problem(self.problem, self.workload)

    def _allowing(self, allow: AbstractSet[str]) -> PlaceTask:
        """Return the task with other extensions; it keeps what was computed for this one."""
        other = replace(self, allow=frozenset(allow))
        for name in ("can_split", "can_interleave", "ranged"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def fits(self, shares: Array, budget_bytes: int) -> bool:
        """Return whether the shares meet all limits."""
        limits = capacity_limits(self.problem, budget_bytes)
        return limits.allow(shares.T @ self.problem.sizes_bytes)

    def choose_whole(self, budget_bytes: int, optimiser: str) -> PlacementChoice:
        """Return the optimiser's choice of whole objects.

        If whole objects do not fit but parts are allowed, return the choice of greedy, which then
        exceeds a capacity.
        """
        problem, kind = self.problem, OPTIMISERS.get(optimiser)
        try:
            shares = kind().choose(problem, budget_bytes).shares
        except NearfarError:
            # Raises a more useful error if even the sum of all bytes does not fit.
            capacity_limits(problem, budget_bytes)
            if "parts" not in self.allow:
                raise
            shares = OPTIMISERS.get("greedy")().choose(problem, budget_bytes).shares
        if (
            not kind.only_bar
            and kind.uses_budget
            and self._should_be_all_near(budget_bytes, shares)
        ):
            shares = problem.in_first_far(np.ones(len(problem.names)))
        shares = shares.copy()
        shares[sorted(problem.fixed)] = np.eye(shares.shape[1])[0]
        return PlacementChoice(shares)

    def _should_be_all_near(self, budget_bytes: int, shares: Array) -> bool:
        """Return whether everything fits near, and `shares` are hardly faster than all-near.

        Objects without benefit then stay near as well. A far memory for them alone saves nothing,
        and a program runs faster if no object has to be recognised.
        """
        problem = self.problem
        all_near = problem.in_first_far(np.ones(len(problem.names)))
        if not self.fits(all_near, budget_bytes):
            return False
        near_ns, time_ns = problem.shared_times_ns(np.stack([all_near, shares])).tolist()
        return bool(near_ns * (1 - MIN_HINT_SHARE) <= time_ns)

    def bars(self, budget_bytes: int) -> dict[str, PlacementChoice]:
        """Return the choices of the optimisers that every plan is compared with."""
        if budget_bytes not in self._bars:
            choices = {name: self.choose_whole(budget_bytes, name) for name in BARS}
            # `exact` optimises sums; the model may time a simpler choice as faster, so take that.
            rivals = [choices[name].shares for name in ("exact", "greedy", "hot-first", "x-mem")]
            fitting = [shares for shares in rivals if self.fits(shares, budget_bytes)]
            if fitting:
                choices["exact"] = PlacementChoice(best_of(self.problem, fitting))
            self._bars[budget_bytes] = choices
        return self._bars[budget_bytes]

    def best_whole(self, budget_bytes: int) -> PlacementChoice:
        """Return the choice of whole objects that the plan begins with."""
        choices = self.bars(budget_bytes)
        return choices.get(self.optimiser) or self.choose_whole(budget_bytes, self.optimiser)

    def with_parts_that_pay(self, budget_bytes: int) -> PlaceTask:
        """Return the task with parts allowed if whole objects are slower or do not fit.

        Any saving counts. Otherwise a plan of whole objects could be slower than one in parts for a
        smaller budget.
        """
        if not self.problem.names:
            return self
        in_parts = self._allowing({*self.allow, "parts"})
        try:
            whole = self.best_whole(budget_bytes)
        except NearfarError:
            # Whole objects do not fit: the new task's choices must not enter this task's caches.
            in_parts = replace(in_parts, sentences=(WHOLE_DO_NOT_FIT,), _bars={}, _extended={})
            in_parts.best_whole(budget_bytes)  # raises if parts do not fit either
            return in_parts
        split = in_parts.best_extended(budget_bytes)
        whole_ns = float(self.problem.shared_times_ns(whole.shares))
        split_ns = split.time_ns(self.problem)
        if split_ns >= whole_ns * (1 - ROUNDING) or not self.fits(split.shares, budget_bytes):
            return self
        saved = 1 - split_ns / whole_ns
        sentence = (
            f"objects are near in part: predicted {saved:.1%} faster than whole objects "
            "(--allow whole)"
        )
        shown = (sentence,) if saved >= MIN_SHOWN_SHARE else ()
        return replace(in_parts, sentences=shown)

    def best_extended(self, budget_bytes: int) -> ExtendedShares:
        """Return the best whole choice with the task's extensions."""
        key = budget_bytes, frozenset(self.allow)
        if key not in self._extended:
            whole = self.best_whole(budget_bytes)
            self._extended[key] = self.extended(budget_bytes, whole.shares, self.allow)
        return self._extended[key]

    def timed_shares(self, budget_bytes: int) -> tuple[Problem, Array]:
        """Return the placement of the task's plan for a budget, and the problem that times it."""
        task = self if self.allow else self.with_parts_that_pay(budget_bytes)
        return task.best_extended(budget_bytes).timed(self.problem)

    def quick_shares(self, budget_bytes: int) -> tuple[Problem, Array]:
        """Return the same as `timed_shares` for greedy, with the extensions that compute fast."""
        task = self if self.allow else self._allowing({"parts"})
        shares = task.choose_whole(budget_bytes, "greedy").shares
        few = len(self.problem.names) <= MAX_OBJECTS_INTERLEAVED_OFTEN
        allow = {extension for extension in task.allow if extension == "parts" or few}
        return self.problem, task._extended_evenly(budget_bytes, shares, allow).shares

    def extended(self, budget_bytes: int, shares: Array, allow: AbstractSet[str]) -> ExtendedShares:
        """Return the shares with parts and interleaving, where these are allowed and save time.

        Parts are ranges if ranges are faster than parts with an even share of their object's
        traffic: they must save `MIN_RANGES_SHARE` of the time that far memory adds with even parts.
        Ranges chosen with half of the sample must save as much by the counts of the other half. (A
        share of the whole time would reject ranges at large budgets, where little is left to save,
        and a plan could become slower with more near memory.)
        """
        evenly = self._extended_evenly(budget_bytes, shares, allow)
        if "parts" not in allow or "moves" in allow or self.ranged is None:
            return evenly
        ranged = self.ranged
        evenly_by_row = ranged.expanded(evenly.shares)
        all_near = ranged.problem.in_first_far(np.ones(len(ranged.problem.names)))
        near_ns = float(ranged.problem.shared_times_ns(all_near))
        evenly_ns = float(ranged.problem.shared_times_ns(evenly_by_row))
        least_ns = evenly_ns - MIN_RANGES_SHARE * max(evenly_ns - near_ns, 0.0)
        chosen = self._fill_with_ranges(ranged.problem, budget_bytes, evenly_by_row)
        if chosen is None or float(ranged.problem.shared_times_ns(chosen)) >= least_ns:
            return evenly
        others_ns = []
        for half, other in (ranged.halves, ranged.halves[::-1]):
            by_half = self._fill_with_ranges(half, budget_bytes, evenly_by_row)
            if by_half is not None:
                others_ns.append(float(other.shared_times_ns(by_half)))
        if len(others_ns) < 2 or float(np.mean(others_ns)) >= least_ns:
            return evenly
        return self._with_interleaved_pages(
            budget_bytes, ExtendedShares(ranged.collapsed(chosen), {}, RangedShares(ranged, chosen))
        )

    def _fill_with_ranges(self, problem: Problem, budget_bytes: int, start: Array) -> Array | None:
        """Return shares of ranges and objects that fill the space and save most time, or None."""
        assert self.ranged is not None
        can_split = (self.can_split | self.can_interleave)[self.ranged.parents]
        return with_parts(problem, budget_bytes, can_split, start)

    def _extended_evenly(
        self, budget_bytes: int, shares: Array, allow: AbstractSet[str]
    ) -> ExtendedShares:
        """Return the shares with extensions; each part has an even share of its object's traffic.

        With parts allowed, the result is no slower than bars that interleave all objects alike.
        """
        problem = self.problem
        if "parts" in allow:
            can_split = self.can_split | self.can_interleave
            split = with_parts(problem, budget_bytes, can_split, shares)
            fits = self.fits(shares, budget_bytes)
            if split is not None:
                shares = best_of(problem, [shares, split]) if fits else split
        weights: dict[int, tuple[int, ...]] = {}
        if "interleave" in allow:
            shares, weights = interleaved(problem, budget_bytes, shares, self.can_split)
        best = self._with_interleaved_pages(budget_bytes, ExtendedShares(shares, weights))
        for name in INTERLEAVED if "parts" in allow else ():
            bar = self.choose_whole(budget_bytes, name).shares
            fits = self.fits(best.shares, budget_bytes)
            least_ns = best.time_ns(problem) * (1 - ROUNDING) if fits else np.inf
            if float(problem.shared_times_ns(bar)) < least_ns:
                rival = self._interleaved_evenly(budget_bytes, bar)
                if self.fits(rival.shares, budget_bytes) and rival.time_ns(problem) < least_ns:
                    best = rival
        return best

    def _interleaved_evenly(self, budget_bytes: int, shares: Array) -> ExtendedShares:
        """Return a placement that a run can make of a bar that divides every object."""
        even = self._with_interleaved_pages(budget_bytes, ExtendedShares(shares, {}))
        # Large objects take the near memory that the integer weights of the others leave.
        filled = filled_up(self.problem, budget_bytes, self.can_split, even.shares)
        return replace(even, shares=best_of(self.problem, [even.shares, filled]))

    def _with_interleaved_pages(
        self, budget_bytes: int, extended: ExtendedShares
    ) -> ExtendedShares:
        """Return the placement with pages interleaved for divided objects that have no parts."""
        problem, weights = self.problem, dict(extended.weights)
        shares = extended.shares.copy()
        divided = ~self.can_split & (shares.max(axis=1, initial=0.0) < 1.0)
        numbers = [at for at in np.flatnonzero(divided).tolist() if at not in weights]
        exact = {number: tuple(extended.shares[number].tolist()) for number in numbers}
        for number in numbers:
            weights[number] = whole_weights(exact[number])
            shares[number] = _shares_of_weights(weights[number])
        if not self.fits(shares, budget_bytes):
            return extended
        # Weights were rounded down: the largest objects take the near memory that this leaves.
        limits = capacity_limits(problem, budget_bytes)
        sizes, used = problem.sizes_bytes, shares.T @ problem.sizes_bytes
        for number in sorted(numbers, key=lambda at: -sizes[at]):
            up = whole_weights(exact[number], up=True)
            after = used + (_shares_of_weights(up) - shares[number]) * sizes[number]
            if limits.allow(after):
                weights[number], shares[number], used = up, _shares_of_weights(up), after
        rows = None if extended.ranges is None else extended.ranges.shares.copy()
        ranges = extended.ranges
        if ranges is not None and rows is not None:
            for number in numbers:
                rows[ranges.ranged.parents == number] = shares[number]
            ranges = RangedShares(ranges.ranged, rows)
        several = {at: each for at, each in weights.items() if sum(w > 0 for w in each) > 1}
        return ExtendedShares(shares, several, ranges)

    def hints(self, budget_bytes: int) -> list[str]:
        """Return sentences about extensions that would pay and are not allowed."""
        time_ns = float(self.problem.shared_times_ns(self.best_whole(budget_bytes).shares))
        hints = []
        extensions: tuple[tuple[Allowed, str], ...] = (
            ("parts", "parts of large objects near"),
            ("interleave", "pages of the largest streams interleaved"),
        )
        allowed = set(self.allow)
        for extension, title in extensions:
            # Savings of interleaving count on top of those of parts, not twice.
            allowed.add(extension)
            if not np.any(self.can_split) or time_ns <= 0:
                break
            extended = self._allowing(allowed).best_extended(budget_bytes)
            extended_ns = extended.time_ns(self.problem)
            saved = 1.0 - extended_ns / time_ns
            if extension not in self.allow and saved > MIN_HINT_SHARE:
                hints.append(
                    f"with {title} the program is predicted to be {saved:.0%} faster: --allow "
                    f"{extension}"
                )
            time_ns = min(time_ns, extended_ns)
        return hints


def _shares_of_weights(weights: tuple[int, ...]) -> Array:
    return np.array(weights, dtype=float) / sum(weights)
