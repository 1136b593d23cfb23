"""The placement problem as arrays, and the time of any placement by the model itself.

Time is not merely additive: where bandwidth binds, an object that leaves far memory makes the
others there faster too. So every placement that is shown is timed by the model, never summed.

A placement is `shares`, shape (..., objects, memories): of each object the part in near memory,
then in each far one; they sum to 1. With one far memory, near shares (..., objects) say as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile
from nearfar.documents.plan import NEAR, Prices
from nearfar.documents.prediction import HostRule
from nearfar.place.several import Pairs, several_times_ns
from nearfar.predict.attribute import added_by_object_ns
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.interval import FarEstimate, far_estimate
from nearfar.predict.memory import MemoryCosts, comparable
from nearfar.predict.model import DEFAULT_MODEL, MODELS, NO_PERTURBATION, Model, Perturbation
from nearfar.predict.together import channel_sharing
from nearfar.predict.total import TOTAL, sum_estimates
from nearfar.predict.traffic import Array, PhaseTraffic, phases_of

Over = Literal["mean", "worst"]
"""What of several inputs' slowdowns counts."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Objects to place between near memory and far ones so that some phases take least time."""

    names: list[str]
    sizes_bytes: Array
    """Room each object needs."""
    phases: list[PhaseTraffic]
    near: MemoryCosts
    fars: list[MemoryCosts]
    by_far: list[list[Model]]
    """Of each far memory, one model per phase."""
    prices: Prices
    far_names: list[str] = field(default_factory=lambda: ["far"])
    """What plans call them."""
    capacities_bytes: tuple[float, ...] = (math.inf,)
    """Of each far memory."""
    far_prices: tuple[float, ...] = ()
    """Per byte of each far memory; empty: all cost what `prices` says."""
    most_cost: float = math.inf
    """Most that the memory used may cost, over all of it near."""
    pairs: Pairs = field(default_factory=dict)
    """Far memories, by index, that hold each other back."""
    inputs: tuple[int, ...] = ()
    """Of each phase, the profile that it is of; empty: all of one."""
    over: Over = "mean"

    @property
    def far(self) -> MemoryCosts:
        """The far memory; of several, the first."""
        return self.fars[0]

    @property
    def models(self) -> list[Model]:
        """One per phase, of `far`."""
        return self.by_far[0]

    @property
    def memory_names(self) -> list[str]:
        """What plans call all memories."""
        return [NEAR, *self.far_names]

    @property
    def memories(self) -> list[MemoryCosts]:
        """All, near first."""
        return [self.near, *self.fars]

    @property
    def footprint_bytes(self) -> int:
        """Room that all objects need."""
        return int(self.sizes_bytes.sum())

    @cached_property
    def near_time_ns(self) -> Estimate:
        """Time with everything near, as measured."""
        return sum_estimates([phase.near_time_ns for phase in self.phases])

    @property
    def far_outcome(self) -> list[FarEstimate]:
        """Time with everything in `far`, per phase."""
        return self.far_outcomes[0]

    @cached_property
    def far_outcomes(self) -> list[list[FarEstimate]]:
        """Time with everything in each far memory, per phase."""
        return [
            [far_estimate(type(model), model.phase, self.near, far, model) for model in models]
            for far, models in zip(self.fars, self.by_far, strict=True)
        ]

    @property
    def added_ns(self) -> Array:
        """What each object adds when it goes to `far`, ns; sums to what all add."""
        return np.asarray(self.costs_ns[:, 1])

    @cached_property
    def costs_ns(self) -> Array:
        """What each object adds in each memory, ns, shape (objects, memories); near adds 0."""
        return np.asarray(self.costs_by_input_ns.sum(axis=0))

    @cached_property
    def costs_by_input_ns(self) -> Array:
        """Likewise of each input, shape (inputs, objects, memories)."""
        inputs = self.inputs or (0,) * len(self.phases)
        numbers = {one: at for at, one in enumerate(sorted(set(inputs)))}
        costs = np.zeros((len(numbers), len(self.names), len(self.fars) + 1))
        for memory, models in enumerate(self.by_far, start=1):
            for one, model in zip(inputs, models, strict=True):
                costs[numbers[one], :, memory] += added_by_object_ns(model)
        return costs

    @cached_property
    def speed_order(self) -> list[int]:
        """Memories by what all data adds there, near first."""
        whole = self.costs_ns.sum(axis=0)
        return [0, *sorted(range(1, len(self.fars) + 1), key=lambda m: float(whole[m]))]

    def times_ns(self, near_shares: Array) -> Array:
        """Return the time of placements: shares (..., objects) near, the rest in `far`."""
        return self.shared_times_ns(self.in_first_far(near_shares))

    def in_first_far(self, near_shares: Array) -> Array:
        """Return the shares of placements that use near memory and `far`."""
        near_shares = np.asarray(near_shares, dtype=float)
        shares = np.zeros((*near_shares.shape, len(self.fars) + 1))
        shares[..., 0], shares[..., 1] = near_shares, 1.0 - near_shares
        return shares

    def shared_times_ns(self, shares: Array) -> Array:
        """Return the time of placements, shares (..., objects, memories)."""
        far = np.asarray(shares, dtype=float)[..., 1:]
        return self.times_by_phase(
            [
                [far[..., memory] @ phase.objects for memory in range(len(self.fars))]
                for phase in self.phases
            ]
        )

    def times_by_phase(self, moved: Sequence[Sequence[Array]]) -> Array:
        """Return times with `moved[phase][far memory]` traffic, (..., COLUMNS), there."""
        times: dict[int, Array] = {}
        for index, lines in enumerate(moved):
            models = [models[index] for models in self.by_far]
            one = self.inputs[index] if self.inputs and self.over == "worst" else 0
            spent = several_times_ns(models, lines, self.pairs)
            times[one] = times[one] + spent if one in times else spent
        # Inputs are weighed to take equally long near, so the slowest has the worst slowdown.
        return np.asarray(np.max(list(times.values()), axis=0) * len(times))

    def times_along(self, order: NDArray[np.intp]) -> Array:
        """Return times with the first 0, 1, ... all objects of `order` near, the rest in `far`.

        Running sums of the traffic: one evaluation for the whole path.
        """
        moved = []
        for phase in self.phases:
            kept = np.zeros((len(order) + 1, phase.objects.shape[1]))
            np.cumsum(phase.objects[order], axis=0, out=kept[1:])
            lines = np.maximum(phase.total - kept, 0.0)
            moved.append([lines] + [np.zeros_like(lines)] * (len(self.fars) - 1))
        return self.times_by_phase(moved)

    def near_bytes(self, near_shares: Array) -> int:
        """Return the near memory that a placement takes."""
        return round(float(np.dot(near_shares, self.sizes_bytes)))

    def prices_per_byte(self) -> Array:
        """Return the price of a byte of each memory."""
        far = self.far_prices or (self.prices.far_per_byte,) * len(self.fars)
        return np.array([self.prices.near_per_byte, *far])

    def cost_relative(self, near_bytes: Array | float) -> Array:
        """Return the price of the memory used over that of all near, the rest being in `far`."""
        near = np.asarray(near_bytes, dtype=float)
        used = np.zeros((*near.shape, len(self.fars) + 1))
        used[..., 0], used[..., 1] = near, self.footprint_bytes - near
        return self.price_relative(used)

    def price_relative(self, bytes_by_memory: Array) -> Array:
        """Return the price of so many bytes of each memory over the price of all of them near."""
        whole = float(self.footprint_bytes) * self.prices.near_per_byte
        spent = np.asarray(bytes_by_memory) @ self.prices_per_byte()
        return np.asarray(spent / whole) if whole else np.ones_like(spent)

    def by_classes(self) -> Problem:
        """Return the same problem with parallelism from access classes, not from near time."""
        return self.doubting(Perturbation(parallelism="classes"))

    def doubting(
        self, doubt: Perturbation = NO_PERTURBATION, fars: list[MemoryCosts] | None = None
    ) -> Problem:
        """Return the same problem with something otherwise, far memories perhaps exchanged."""
        fars = fars or self.fars
        by_far = [
            [type(model)(model.phase, self.near, far, doubt) for model in models]
            for far, models in zip(fars, self.by_far, strict=True)
        ]
        return replace(self, fars=fars, by_far=by_far)


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
    """Set up the problem for each far memory by itself, reading the profile once."""
    phases = phases_of(workload, None if phase == TOTAL else [phase])
    near_side = near_memory(near, page_bytes)
    for far in fars:
        yield problem_of(
            workload,
            phases,
            near_side,
            [far],
            model=model,
            prices=prices,
            host=host,
        )


def problem_of(
    workload: WorkloadProfile,
    phases: list[PhaseTraffic],
    near: MemoryCosts,
    fars: Sequence[DeviceProfile],
    *,
    model: str = DEFAULT_MODEL,
    prices: Prices | None = None,
    host: HostRule = DEFAULT_HOST,
    machine: MachineProfile | None = None,
) -> Problem:
    """Set up the problem of near memory and all of `fars` at once.

    `machine` says which memories hold each other back.
    """
    prices = prices or Prices()
    check_prices(prices)
    kind = MODELS.get(model)
    near, *sides = comparable(
        near,
        *(
            replace(
                far_memory(far, near, host), together=channel_sharing(machine, near.device, far)
            )
            for far in fars
        ),
    )
    found = {
        (i, j): channel_sharing(machine, fars[i], fars[j])
        for i in range(len(fars))
        for j in range(i + 1, len(fars))
    }
    return Problem(
        names=[thing.name for thing in workload.objects],
        sizes_bytes=np.array([max(0, thing.size_bytes) for thing in workload.objects], dtype=float),
        phases=phases,
        near=near,
        fars=sides,
        by_far=[[kind(traffic, near, side) for traffic in phases] for side in sides],
        prices=prices,
        far_names=["far"] if len(fars) == 1 else unique([far.name for far in fars]),
        capacities_bytes=(math.inf,) * len(fars),
        pairs={pair: both for pair, both in found.items() if both is not None},
    )


def unique(names: Sequence[str]) -> list[str]:
    """Return the names with a number behind those that were there before."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return told


def check_prices(prices: Prices) -> None:
    """Refuse prices that are not positive numbers; far memory may be free."""
    finite = math.isfinite(prices.near_per_byte) and math.isfinite(prices.far_per_byte)
    if not (finite and prices.near_per_byte > 0 and prices.far_per_byte >= 0):
        raise NearfarError(
            f"prices must be positive: near {prices.near_per_byte:g}, far {prices.far_per_byte:g}"
        )
