"""The placement problem as arrays, and the model's time of any placement.

Times of objects do not add: if bandwidth is the limit, an object that leaves far memory makes the
remaining ones faster. So the model times every placement that is shown as a whole.

A placement is an array `shares` of shape (..., objects, memories): each object's share in near
memory, then in each far memory; these sum to 1. With one far memory, near shares (..., objects) are
enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile
from nearfar.documents.plan import NEAR, Prices
from nearfar.documents.prediction import HostRule
from nearfar.documents.workload import MemoryObject
from nearfar.options.place import Over
from nearfar.place.joint_time import Pairs, joint_times_ns
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.interval import FarEstimate, far_estimate
from nearfar.predict.memory import MemoryCosts, comparable
from nearfar.predict.model import DEFAULT_MODEL, MODELS, NO_PERTURBATION, Model, Perturbation
from nearfar.predict.object_effects import added_by_object_ns
from nearfar.predict.phases import phases_of
from nearfar.predict.shared_channels import channel_sharing
from nearfar.predict.total import TOTAL
from nearfar.predict.traffic import Array, PhaseTraffic


@dataclass(frozen=True, eq=False)
class Problem:
    """Objects to place between near memory and far ones so that some phases take least time."""

    names: list[str]
    sizes_bytes: Array
    """Each object's peak size."""
    phases: list[PhaseTraffic]
    near: MemoryCosts
    fars: list[MemoryCosts]
    by_far: list[list[Model]]
    """One model per phase for each far memory."""
    prices: Prices
    far_names: list[str] = field(default_factory=lambda: ["far"])
    """Names of the far memories in plans."""
    capacities_bytes: tuple[float, ...] = (math.inf,)
    """Capacity of each far memory; infinity: no limit."""
    far_prices: tuple[float, ...] = ()
    """Price of a byte of each far memory; empty: that of `prices` for all."""
    max_cost: float = math.inf
    """Highest price of the memory used, relative to all near."""
    pairs: Pairs = field(default_factory=dict)
    """Far memories that share channels, by their indices."""
    inputs: tuple[int, ...] = ()
    """Number of each phase's input (profile); empty: all of one."""
    over: Over = "mean"
    fixed: frozenset[int] = frozenset()
    """Objects that no plan can move: they stay near and take no space from the budget."""

    @property
    def far(self) -> MemoryCosts:
        """The first far memory."""
        return self.fars[0]

    @property
    def models(self) -> list[Model]:
        """Return one model per phase for `far`."""
        return self.by_far[0]

    @property
    def memory_names(self) -> list[str]:
        """Names of all memories in plans, near first."""
        return [NEAR, *self.far_names]

    @property
    def memories(self) -> list[MemoryCosts]:
        """All memories, near first."""
        return [self.near, *self.fars]

    @property
    def footprint_bytes(self) -> int:
        """Sum of all objects' sizes."""
        return int(self.sizes_bytes.sum())

    @cached_property
    def near_time_ns(self) -> Estimate:
        """Time with everything near, as measured."""
        return sum_estimates([phase.near_time_ns for phase in self.phases])

    @cached_property
    def far_outcomes(self) -> list[list[FarEstimate]]:
        """Time with everything in each far memory, per phase."""
        return [
            [_outcome(model, self.near, far) for model in models]
            for far, models in zip(self.fars, self.by_far, strict=True)
        ]

    @cached_property
    def phase_weights(self) -> list[float]:
        """Share of each phase in near time; 0 without near time."""
        near = self.near_time_ns.value
        return [phase.near_time_ns.value / near if near > 0 else 0.0 for phase in self.phases]

    @property
    def added_ns(self) -> Array:
        """Time that each object adds in `far`, ns; the sum is what all add."""
        return np.asarray(self.costs_ns[:, 1])

    @cached_property
    def costs_ns(self) -> Array:
        """Time that each object adds in each memory, ns, (objects, memories); near adds 0."""
        return np.asarray(self.costs_by_input_ns.sum(axis=0))

    @cached_property
    def costs_by_input_ns(self) -> Array:
        """Added time of each input, ns, (inputs, objects, memories)."""
        return self.sum_by_input(added_by_object_ns)

    def sum_by_input(self, by_object: Callable[[Model], Array]) -> Array:
        """Return the sums of `by_object` over each input's phases, (inputs, objects, memories)."""
        inputs = self.inputs or (0,) * len(self.phases)
        rows = {number: row for row, number in enumerate(sorted(set(inputs)))}
        costs = np.zeros((len(rows), len(self.names), len(self.fars) + 1))
        for memory, models in enumerate(self.by_far, start=1):
            for number, model in zip(inputs, models, strict=True):
                costs[rows[number], :, memory] += by_object(model)
        return costs

    @cached_property
    def speed_order(self) -> list[int]:
        """Memories by the time that all data adds in them, near first."""
        totals_ns = self.costs_ns.sum(axis=0)
        return [0, *sorted(range(1, len(self.fars) + 1), key=lambda m: float(totals_ns[m]))]

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
        """Return the times of placements, which are shares (..., objects, memories)."""
        far = np.asarray(shares, dtype=float)[..., 1:]
        return self.times_by_phase(
            [
                [far[..., memory] @ phase.objects for memory in range(len(self.fars))]
                for phase in self.phases
            ]
        )

    def times_by_phase(self, moved: Sequence[Sequence[Array]]) -> Array:
        """Return times with `moved[phase][far memory]` traffic, (..., COLUMNS), in far memories."""
        times: dict[int, Array] = {}
        for index, lines in enumerate(moved):
            models = [models[index] for models in self.by_far]
            number = self.inputs[index] if self.inputs and self.over == "worst" else 0
            spent = joint_times_ns(models, lines, self.pairs)
            times[number] = times[number] + spent if number in times else spent
        # All inputs have the same weighted near time, so the slowest has the worst slowdown.
        return np.asarray(np.max(list(times.values()), axis=0) * len(times))

    def times_along(self, order: NDArray[np.intp]) -> Array:
        """Return the times with the first n objects of `order` near, for n from 0 to all.

        The other objects are in `far`. Running sums of traffic allow one evaluation for all n.
        """
        moved = []
        for phase in self.phases:
            near_lines = np.zeros((len(order) + 1, phase.objects.shape[1]))
            np.cumsum(phase.objects[order], axis=0, out=near_lines[1:])
            lines = np.subtract(phase.total, near_lines, out=near_lines)
            np.maximum(lines, 0.0, out=lines)
            others = [np.zeros_like(lines) for _ in self.fars[1:]]
            moved.append([lines, *others])
        return self.times_by_phase(moved)

    def prices_per_byte(self) -> Array:
        """Return the price of a byte of each memory."""
        far = self.far_prices or (self.prices.far_per_byte,) * len(self.fars)
        return np.array([self.prices.near_per_byte, *far])

    def cost_relative(self, near_bytes: Array | float) -> Array:
        """Return the price of `near_bytes` near and the rest in `far`, relative to all near."""
        near = np.asarray(near_bytes, dtype=float)
        used = np.zeros((*near.shape, len(self.fars) + 1))
        used[..., 0], used[..., 1] = near, self.footprint_bytes - near
        return self.price_relative(used)

    def price_relative(self, bytes_by_memory: Array) -> Array:
        """Return the price of these bytes of each memory relative to the program all near."""
        all_near = float(self.footprint_bytes) * self.prices.near_per_byte
        price = np.asarray(bytes_by_memory) @ self.prices_per_byte()
        return np.asarray(price / all_near) if all_near else np.ones_like(price)

    def of_phase(self, name: str) -> Problem:
        """Return the same problem for one phase alone; for the whole run, itself."""
        if name == TOTAL:
            return self
        at = [number for number, phase in enumerate(self.phases) if phase.name == name]
        by_far = [[models[number] for number in at] for models in self.by_far]
        return replace(self, phases=[self.phases[number] for number in at], by_far=by_far)

    def perturbed(
        self, perturbation: Perturbation = NO_PERTURBATION, fars: list[MemoryCosts] | None = None
    ) -> Problem:
        """Return the same problem with changed inputs or with other far memories."""
        fars = fars or self.fars
        by_far = [
            [type(model)(model.phase, self.near, far, perturbation) for model in models]
            for far, models in zip(fars, self.by_far, strict=True)
        ]
        return replace(self, fars=fars, by_far=by_far)


@lru_cache(maxsize=64)
def _outcome(model: Model, near: MemoryCosts, far: MemoryCosts) -> FarEstimate:
    """Return time and slowdown of everything far; cached, because problems share phases."""
    return far_estimate(type(model), model.phase, near, far, model)


def make_problem(
    workload: WorkloadProfile,
    near: DeviceProfile,
    far: DeviceProfile,
    *,
    model: str = DEFAULT_MODEL,
    page_bytes: int | None = None,
    host: HostRule = DEFAULT_HOST,
) -> Problem:
    """Return the problem of one far memory and the whole run."""
    side = near_memory(near, page_bytes)
    return problem_of(workload, phases_of(workload), side, [far], model=model, host=host)


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
    """Return the problem of near memory and all of `fars` at once.

    `machine` has the joint limits of memories that share channels.
    """
    prices = prices or Prices()
    check_prices(prices)
    kind = MODELS.get(model)
    near, *sides = comparable(
        near,
        *(
            replace(
                far_memory(far, near, host),
                channel_sharing=channel_sharing(machine, near.device, far),
            )
            for far in fars
        ),
    )
    joint = {
        (i, j): channel_sharing(machine, fars[i], fars[j])
        for i in range(len(fars))
        for j in range(i + 1, len(fars))
    }
    fixed = frozenset(i for i, item in enumerate(workload.objects) if is_fixed(item))
    sizes_bytes = np.array([item.size_bytes for item in workload.objects], dtype=float)
    sizes_bytes[list(fixed)] = 0.0
    return Problem(
        names=[item.name for item in workload.objects],
        sizes_bytes=np.maximum(sizes_bytes, 0.0),
        phases=phases,
        near=near,
        fars=sides,
        by_far=[[kind(traffic, near, side) for traffic in phases] for side in sides],
        prices=prices,
        far_names=["far"] if len(fars) == 1 else unique([far.name for far in fars]),
        capacities_bytes=(math.inf,) * len(fars),
        pairs={pair: limit for pair, limit in joint.items() if limit is not None},
        fixed=fixed,
    )


def is_fixed(item: MemoryObject) -> bool:
    """Return whether no plan can move an object: globals of libraries are where they are loaded."""
    return item.kind == "globals" and item.name.startswith("globals of ")


def placed_bytes(objects: Sequence[MemoryObject]) -> int:
    """Return the size of all that plans place: budgets such as 25 % are shares of it."""
    return sum(max(0, item.size_bytes) for item in objects if not is_fixed(item))


def unique(names: Sequence[str]) -> list[str]:
    """Return the names, with a number appended to repeated ones."""
    counts: dict[str, int] = {}
    numbered = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    return numbered


def check_prices(prices: Prices) -> None:
    """Raise NearfarError for prices that are not positive numbers; far memory may be free."""
    finite = math.isfinite(prices.near_per_byte) and math.isfinite(prices.far_per_byte)
    if not (finite and prices.near_per_byte > 0 and prices.far_per_byte >= 0):
        raise NearfarError(
            f"prices must be numbers, near above 0 and far 0 or more: near is "
            f"{prices.near_per_byte:g}, far {prices.far_per_byte:g}"
        )
