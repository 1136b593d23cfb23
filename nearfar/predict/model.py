"""What a model is. Each is one file in `models/` and is found by the registry.

A model that lacks what it needs raises `ModelLacksError` as it is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from nearfar.base.errors import NearfarError
from nearfar.base.registry import Registry
from nearfar.documents.prediction import Bound
from nearfar.predict.memory import MemoryCosts, comparable, scaled_memory
from nearfar.predict.traffic import Array, PhaseTraffic
from nearfar.predict.walks import as_walked


@dataclass(frozen=True)
class Perturbation:
    """What is taken to be otherwise than the central estimate; factors multiply."""

    near_time: float = 1.0
    lines: float = 1.0
    """On all counts of lines."""
    near_latency: float = 1.0
    far_latency: float = 1.0
    far_bandwidth: float = 1.0
    hits: float = 1.0
    """On the time that cache hits are taken to add between misses."""
    parallelism: Literal["near time", "classes"] = "near time"
    """Where parallelism comes from: inverted from near time, or from the access classes alone."""
    streams_share: float = 0.5
    """How much streams at once have more lines in flight than one: 0 none, 1 as many times more.
    The geometric middle between sharing the core's buffers and each having a prefetcher's depth;
    nothing where both memories' copies say it."""
    near_curves_hold: bool = False
    """Where near time beats the near curves, whether the far curves are right all the same."""
    smaller_window: bool = False
    """Of models that simulate a core: whether it is a small one."""


NO_PERTURBATION = Perturbation()


class ModelLacksError(NearfarError):
    """The profile or a device has not what a model needs: one sentence. Other models go on."""


@dataclass(frozen=True)
class RatioTime:
    """Time with pages dealt out between both memories."""

    near_pages: int
    far_pages: int
    time_ns: float


class Model:
    """Predicts one phase's time from the traffic moved to far memory; defaults say "unknown"."""

    name: ClassVar[str]
    everything_far: ClassVar[bool] = True
    """False: with all traffic moved it answers another question than "all in far memory"."""

    brackets: ClassVar[tuple[str, ...]] = ()
    """Models whose distance from this one widens its interval."""

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        self.phase = phase
        near, far = comparable(near, far)
        far = as_walked(far, phase, near)
        self.given_near, self.given_far = near, far
        self.near = scaled_memory(near, doubt.near_latency)
        # What of far latency was taken from near's is in doubt with it, not apart from it.
        with_near = 1.0 + (doubt.near_latency - 1.0) * far.near_share
        self.far = scaled_memory(far, doubt.far_latency * with_near, doubt.far_bandwidth)
        self.doubt = doubt
        self.near_time_ns = phase.near_time_ns.value * doubt.near_time
        self.total = phase.total * doubt.lines

    def times_ns(self, moved: Array) -> Array:
        """Return CPU time of the phase with `moved` traffic far and the rest near, ns.

        `moved` has shape (..., COLUMNS) and any number of placements; the result has shape (...).
        """
        raise NotImplementedError

    def bound(self) -> Bound:
        """Say what bounds the phase with everything far."""
        return "latency"

    def ratios(self) -> list[RatioTime]:
        """Return times with pages dealt out in ratios; of models that deal them out."""
        return []

    def remarks(self) -> list[str]:
        """Return what this model cannot know beside what no model knows, in sentences."""
        return []

    def beyond(self) -> dict[str, float]:
        """Return what the phase asks of memories' curves beyond their ends, in words, and how far
        beyond, relative to the end.
        """
        return {}

    def must_hold_ns(self) -> list[float]:
        """Return times of everything far that the interval must hold, beside this model's own."""
        return []

    def extrapolated(self) -> float:
        """Return how far beyond a curve's end the load lies at worst, relative to the end."""
        return max(self.beyond().values(), default=0.0)

    def effective_parallelism(self) -> float | None:
        """Return the misses in flight that near time implies; None where the model has none."""
        return None


MODELS: Registry[type[Model]] = Registry("nearfar.predict.models", "model")

DEFAULT_MODEL = "best"
NAIVE_MODELS = ("null", "latency-ratio", "misses")
"""Shown beside every prediction: at small slowdowns a tiny error is no skill."""


def usable_models(
    names: Iterable[str], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> tuple[list[Model], list[str]]:
    """Return the models that have what they need, and what the others lack, in sentences."""
    found, lacking = [], []
    for name in names:
        try:
            found.append(MODELS.get(name)(phase, near, far))
        except ModelLacksError as lack:
            lacking.append(str(lack))
    return found, lacking
