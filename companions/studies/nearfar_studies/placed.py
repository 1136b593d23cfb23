"""One application placed on one far memory: slowdowns and times of its phases by near share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile
from nearfar.place.evaluation import evaluate
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import Problem, make_problem
from nearfar.predict.traffic import Array
from nearfar_studies.applications import Application, MeasuredApplication, only
from nearfar_studies.percentiles import MeanTimes

GUIDED, UNGUIDED = "exact", "page-interleaved"


@dataclass(frozen=True)
class PlacedApplication:
    """An application on a far memory, with any share of its data near."""

    application: Application
    measured: MeasuredApplication
    near: DeviceProfile
    far: DeviceProfile

    @cached_property
    def problem(self) -> Problem:
        """The placement problem of the phases that count."""
        workload = only(self.measured.there, self.application.placed)
        return make_problem(workload, self.near, self.far)

    @cached_property
    def requests(self) -> Problem:
        """The placement problem of the phases that are kinds of request."""
        workload = only(self.measured.there, self.application.requests)
        return make_problem(workload, self.near, self.far)

    def shares(self, near_share: float, optimiser: str = GUIDED) -> Array:
        """Return the placement of all objects, (objects, memories)."""
        budget = int(near_share * self.problem.footprint_bytes)
        return OPTIMISERS.get(optimiser)().choose(self.problem, budget).shares

    def slowdown(self, near_share: float, optimiser: str = GUIDED) -> Estimate:
        """Return the slowdown relative to everything near."""
        shares = self.shares(near_share, optimiser)
        return evaluate(self.problem, shares[np.newaxis])[0].slowdown

    def gain(self, near_share: float) -> Estimate:
        """Return the time with everything far divided by that with a share near."""
        far, some = self.slowdown(0.0), self.slowdown(near_share)
        # Both slowdowns err in the same direction, so low goes with low and high with high.
        return Estimate(far.value / some.value, *sorted((far.low / some.low, far.high / some.high)))

    def times(self, near_share: float) -> dict[str, MeanTimes]:
        """Return the mean times of requests, by kind."""
        moved = self.shares(near_share)[:, 1]
        here = {phase.name: phase for phase in self.measured.here.phases}
        times = {}
        for phase, model in zip(self.requests.phases, self.requests.models, strict=True):
            count = phase.operations or 1.0
            times[phase.name] = MeanTimes(
                here=here[phase.name].near_cpu_time_ns.value / count,
                near=phase.near_time_ns.value / count,
                far=float(model.times_ns(moved @ phase.objects)) / count,
            )
        return times

    def kept(self, near_share: float) -> list[str]:
        """Return the objects that stay near and are above a thousandth of the data."""
        near = self.shares(near_share)[:, 0]
        large = self.problem.sizes_bytes > self.problem.footprint_bytes / 1000
        return [
            f"{self.problem.names[i].split(', ')[-1]} ({self.problem.sizes_bytes[i] / 1e6:.0f} MB)"
            for i in np.flatnonzero((near > 0.5) & large)
        ]
