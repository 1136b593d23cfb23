"""The interface of a model. Each model is one file in `models/`, found by the registry."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.registry import Registry
from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MemoryCosts, scaled_memory, seen_by, written_memory
from nearfar.predict.traffic import Array, PhaseTraffic
from nearfar.predict.walks import as_walked


class Perturbation(msgspec.Struct, frozen=True):
    """Factors and choices applied to the central estimate to find its interval."""

    near_time: float = 1.0
    lines: float = 1.0
    """Factor on all counts of lines."""
    near_latency: float = 1.0
    near_bandwidth: float = 1.0
    far_latency: float = 1.0
    far_bandwidth: float = 1.0
    far_stream: float = 1.0
    """Factor on the time of one core's sequential reads of far memory."""
    far_writes: float = 1.0
    """Factor on the time of lines written to far memory."""
    hits: float = 1.0
    """Factor on the time that cache hits add between misses."""
    parallelism: Literal["near time", "classes"] = "near time"
    """Source of parallelism: inverted from near time, or the access classes alone."""
    streams_share: float = 0.5
    """Lines in flight grow as the number of streams to this power. 0: the streams share the core's
    buffers. 1: each has a full prefetcher's depth. The default is the geometric mean of both. Not
    used where copies in both memories were measured."""
    taken: float = 0.0
    """Part of the lines that a contending core takes by `shared_cache`, 0 to 1."""
    near_curves_hold: bool = False
    """Whether the far curves are right where near time is shorter than the near curves allow."""


NO_PERTURBATION = Perturbation()


class ModelLacksError(NearfarError):
    """The profile or a device lacks what a model needs; other models continue."""


@dataclass(frozen=True)
class RatioTime:
    """Time with pages interleaved between both memories."""

    near_pages: int
    far_pages: int
    time_ns: float


class Model:
    """A prediction of one phase's time from the traffic moved to far memory.

    A model that lacks what it needs raises `ModelLacksError` when it is made. Defaults mean
    "unknown".
    """

    name: ClassVar[str]
    everything_far: ClassVar[bool] = True
    """False: some data stay near even if all traffic is moved, as in Memory Mode."""

    brackets: ClassVar[tuple[str, ...]] = ()
    """Names of the models whose distance from this one widens its interval."""

    deviation_share: ClassVar[float | None] = None
    """Share of the joined deviations that its interval has; None: the default model's share."""

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        perturbation: Perturbation = NO_PERTURBATION,
    ) -> None:
        self.phase = phase
        near, far = seen_by(phase.concurrency, near, far)
        near = written_memory(near, phase.uncached_share)
        far = written_memory(far, phase.uncached_share)
        far = as_walked(far, phase, near)
        self.given_near, self.given_far = near, far
        self.near = scaled_memory(near, perturbation.near_latency, perturbation.near_bandwidth)
        # If far latency was derived from near latency, `near_share` of it changes with the latter.
        with_near = 1.0 + (perturbation.near_latency - 1.0) * far.near_share
        self.far = scaled_memory(
            far,
            perturbation.far_latency * with_near,
            perturbation.far_bandwidth,
            perturbation.far_stream,
            perturbation.far_writes,
        )
        self.perturbation = perturbation
        self.near_time_ns = phase.near_time_ns.value * perturbation.near_time
        self.total = phase.total
        if perturbation.lines != 1.0:
            self.total = phase.total * perturbation.lines
        self.prepare()

    def prepare(self) -> None:
        """Compute what is the same for all placements; the end of `__init__`."""

    @classmethod
    def figure_errors(cls, memory: MemoryCosts) -> tuple[float, float]:
        """Return the relative half-widths of the latencies and bandwidths that the model uses."""
        return memory.latency_error, memory.bandwidth_error

    @classmethod
    def prepare_all_far(cls, models: Sequence[Self]) -> None:
        """Compute at once what `times_ns` of everything far needs in each of many models, if any.

        It gives the same times with and without this.
        """

    def times_ns(self, moved: Array) -> Array:
        """Return CPU time of the phase with `moved` traffic far and the rest near, ns.

        `moved` has shape (..., COLUMNS) for any number of placements; the result has shape (...).
        """
        raise NotImplementedError

    def ends_ns(self, objects: Array) -> tuple[Array, Array]:
        """Return the time that each of `objects` adds as the first to go far, and as the last, ns.

        `objects` are rows of the phase's.
        """
        total = self.phase.total
        first_ns = self.times_ns(objects) - self.near_time_ns
        return first_ns, float(self.times_ns(total)) - self.times_ns(total - objects)

    @cached_property
    def all_ends_ns(self) -> tuple[Array, Array]:
        """`ends_ns` of all objects: a plan's costs and its bound both need them."""
        return self.ends_ns(self.phase.objects)

    def with_objects(self, phase: PhaseTraffic) -> Self:
        """Return the model for `phase`, the same phase with its total divided into other objects.

        All that follows from the total is kept.
        """
        other = copy.copy(self)
        other.phase = phase
        other.__dict__.pop("all_ends_ns", None)
        return other

    def bound(self) -> Bound:
        """Return what bounds the phase with everything far."""
        return "latency"

    def ratios(self) -> list[RatioTime]:
        """Return times with pages interleaved in ratios; only models that interleave have any."""
        return []

    def remarks(self) -> list[str]:
        """Return sentences on the limits of this model that no other model has."""
        return []

    def beyond_curves(self) -> dict[str, float]:
        """Return by how much the phase exceeds the ends of memories' curves, relative to the ends.

        Keys are predicates for a sentence, with a placeholder for the value.
        """
        return {}

    def times_to_cover_ns(self) -> list[float]:
        """Return further times of everything far that the interval must cover."""
        return []

    def fitted_weight(self) -> float:
        """Return the weight of a window that was fitted to near time, 0..1."""
        return 0.0

    def times_to_spread_ns(self) -> list[float]:
        """Return the ends of a 90 % interval of far times that near time does not determine."""
        return []

    def unexplained(self) -> float:
        """Return the relative error of a time even where far memory adds nothing to it."""
        return 0.0

    def extrapolation(self) -> float:
        """Return how far beyond a curve's end the load lies at worst, relative to the end."""
        return max(self.beyond_curves().values(), default=0.0)

    def effective_parallelism(self) -> float | None:
        """Return the misses in flight that near time implies; None if the model has none."""
        return None


MODELS: Registry[type[Model]] = Registry("nearfar.predict.models", "model")

DEFAULT_MODEL = "best"
NAIVE_MODELS = ("null", "latency-ratio", "misses")
"""Models shown with every prediction: at small slowdowns a small error is no skill."""


def usable_models(
    names: Iterable[str], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> tuple[list[Model], list[str]]:
    """Return the models that have what they need, and sentences on what the others lack."""
    models, missing = [], []
    for name in names:
        try:
            models.append(MODELS.get(name)(phase, near, far))
        except ModelLacksError as error:
            missing.append(str(error))
    return models, missing
