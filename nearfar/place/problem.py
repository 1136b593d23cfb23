"""The placement problem as arrays, and the time of any placement by the model itself.

Time is not merely additive: where bandwidth binds, an object that leaves far memory makes the
others there faster too. So every placement that is shown is timed by the model, never summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.plan import Prices
from nearfar.documents.prediction import HostRule
from nearfar.predict.attribute import added_by_object_ns
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.interval import Outcome, outcome
from nearfar.predict.memory import Memory
from nearfar.predict.model import DEFAULT_MODEL, MODELS, Doubt, Model
from nearfar.predict.total import TOTAL, summed
from nearfar.predict.traffic import Array, PhaseTraffic, phases_of


@dataclass(frozen=True, eq=False)
class Problem:
    """Objects to place between two memories so that some phases take least time."""

    names: list[str]
    sizes_bytes: Array
    """Room each object needs."""
    phases: list[PhaseTraffic]
    near: Memory
    far: Memory
    models: list[Model]
    """One per phase."""
    prices: Prices

    @property
    def footprint_bytes(self) -> int:
        """Room that all objects need."""
        return int(self.sizes_bytes.sum())

    @cached_property
    def near_time_ns(self) -> Estimate:
        """Time with everything near, as measured."""
        return summed([phase.near_time_ns for phase in self.phases])

    @cached_property
    def far_outcome(self) -> list[Outcome]:
        """Time with everything far, per phase."""
        return [
            outcome(type(model), model.phase, self.near, self.far, model) for model in self.models
        ]

    @cached_property
    def added_ns(self) -> Array:
        """What each object adds when it goes far, ns; sums to what all add."""
        return np.asarray(sum(added_by_object_ns(model) for model in self.models))

    def times_ns(self, near_shares: Array) -> Array:
        """Return the time of placements: shares (..., objects) of each object that stay near."""
        far_shares = 1.0 - np.asarray(near_shares, dtype=float)
        return np.asarray(
            sum(model.times_ns(far_shares @ model.phase.objects) for model in self.models)
        )

    def times_along(self, order: NDArray[np.intp]) -> Array:
        """Return times with the first 0, 1, ... all objects of `order` near.

        Running sums of the traffic: one evaluation for the whole path.
        """
        times = np.zeros(len(order) + 1)
        for model in self.models:
            kept = np.zeros((len(order) + 1, model.phase.objects.shape[1]))
            np.cumsum(model.phase.objects[order], axis=0, out=kept[1:])
            times += model.times_ns(np.maximum(model.phase.total - kept, 0.0))
        return times

    def near_bytes(self, near_shares: Array) -> int:
        """Return the near memory that a placement takes."""
        return round(float(np.dot(near_shares, self.sizes_bytes)))

    def cost_relative(self, near_bytes: Array | float) -> Array:
        """Return the price of the memory used over the price of all of it near."""
        whole = float(self.footprint_bytes)
        if whole == 0.0:
            return np.ones_like(np.asarray(near_bytes, dtype=float))
        near_price, far_price = self.prices.near_per_byte, self.prices.far_per_byte
        far_bytes = whole - np.asarray(near_bytes)
        spent = np.asarray(near_bytes) * near_price + far_bytes * far_price
        return np.asarray(spent / (whole * near_price))

    def by_classes(self) -> Problem:
        """Return the same problem with parallelism from access classes, not from near time."""
        doubt = Doubt(parallelism="classes")
        models = [type(model)(model.phase, self.near, self.far, doubt) for model in self.models]
        return Problem(
            names=self.names,
            sizes_bytes=self.sizes_bytes,
            phases=self.phases,
            near=self.near,
            far=self.far,
            models=models,
            prices=self.prices,
        )


def make_problem(
    workload: WorkloadProfile,
    near: DeviceProfile,
    far: DeviceProfile,
    *,
    phase: str = TOTAL,
    model: str = DEFAULT_MODEL,
    prices: Prices | None = None,
    page_bytes: int | None = None,
    host: HostRule = DEFAULT_HOST,
) -> Problem:
    """Set up the problem for one phase, or for the whole run (``total``)."""
    return next(
        make_problems(
            workload,
            near,
            [far],
            phase=phase,
            model=model,
            prices=prices,
            page_bytes=page_bytes,
            host=host,
        )
    )


def make_problems(
    workload: WorkloadProfile,
    near: DeviceProfile,
    fars: Iterable[DeviceProfile],
    *,
    phase: str = TOTAL,
    model: str = DEFAULT_MODEL,
    prices: Prices | None = None,
    page_bytes: int | None = None,
    host: HostRule = DEFAULT_HOST,
) -> Iterator[Problem]:
    """Set up the problem for each far memory, reading the profile once."""
    prices = prices or Prices()
    check_prices(prices)
    sizes = np.array([max(0, thing.size_bytes) for thing in workload.objects], dtype=float)
    phases = phases_of(workload, None if phase == TOTAL else [phase])
    near_side = near_memory(near, page_bytes)
    kind = MODELS.get(model)
    for far in fars:
        far_side = far_memory(far, near_side, host)
        yield Problem(
            names=[thing.name for thing in workload.objects],
            sizes_bytes=sizes,
            phases=phases,
            near=near_side,
            far=far_side,
            models=[kind(traffic, near_side, far_side) for traffic in phases],
            prices=prices,
        )


def check_prices(prices: Prices) -> None:
    """Refuse prices that are not positive numbers; far memory may be free."""
    finite = math.isfinite(prices.near_per_byte) and math.isfinite(prices.far_per_byte)
    if not (finite and prices.near_per_byte > 0 and prices.far_per_byte >= 0):
        raise NearfarError(
            f"prices must be positive: near {prices.near_per_byte:g}, far {prices.far_per_byte:g}"
        )


def time_estimates(problem: Problem, times_ns: Sequence[float] | Array) -> list[Estimate]:
    """Return placements' times with intervals.

    All-near has near time's own interval and all-far that of the prediction; between, the ends
    move as the added time does, because what is uncertain is common to all placements.
    """
    near = problem.near_time_ns
    far = summed([found.far_time_ns for found in problem.far_outcome])
    times = np.asarray(times_ns, dtype=float)
    whole = far.value - near.value
    share = (times - near.value) / whole if whole else np.zeros_like(times)
    below = (near.value - near.low) * (1 - share) + (far.value - far.low) * share
    above = (near.high - near.value) * (1 - share) + (far.high - far.value) * share
    lows = np.maximum(0.0, times - np.maximum(below, 0.0))
    highs = times + np.maximum(above, 0.0)
    return [
        Estimate(*row) for row in zip(times.tolist(), lows.tolist(), highs.tolist(), strict=True)
    ]


def slowdown_estimates(problem: Problem, times_ns: Sequence[float] | Array) -> list[Estimate]:
    """Return placements' slowdowns with intervals; all-near is 1 by definition."""
    near = problem.near_time_ns.value
    times = np.asarray(times_ns, dtype=float)
    if near <= 0:
        return [Estimate(1.0, 1.0, 1.0)] * len(times)
    weights = [phase.near_time_ns.value / near for phase in problem.phases]
    pairs = list(zip(weights, problem.far_outcome, strict=True))
    far = sum(weight * found.slowdown.value for weight, found in pairs)
    far_low = sum(weight * found.slowdown.low for weight, found in pairs)
    far_high = sum(weight * found.slowdown.high for weight, found in pairs)
    slowdowns = times / near
    share = (slowdowns - 1) / (far - 1) if far != 1 else np.zeros_like(times)
    lows = slowdowns - np.maximum((far - far_low) * share, 0.0)
    highs = slowdowns + np.maximum((far_high - far) * share, 0.0)
    return [
        Estimate(*row)
        for row in zip(slowdowns.tolist(), lows.tolist(), highs.tolist(), strict=True)
    ]
