"""What a model is. Each is one file in `models/` and is found by the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from nearfar.base.registry import Registry
from nearfar.documents.prediction import Bound
from nearfar.predict.memory import Memory, scaled
from nearfar.predict.traffic import Array, PhaseTraffic


@dataclass(frozen=True)
class Doubt:
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
    near_curves_hold: bool = False
    """Where near time beats the near curves, whether the far curves are right all the same."""


NO_DOUBT = Doubt()


class Model:
    """Predicts one phase's time from the traffic moved to far memory; defaults say "unknown"."""

    name: ClassVar[str]

    def __init__(
        self, phase: PhaseTraffic, near: Memory, far: Memory, doubt: Doubt = NO_DOUBT
    ) -> None:
        self.phase = phase
        self.near = scaled(near, doubt.near_latency)
        # What of far latency was taken from near's is in doubt with it, not apart from it.
        with_near = 1.0 + (doubt.near_latency - 1.0) * far.near_share
        self.far = scaled(far, doubt.far_latency * with_near, doubt.far_bandwidth)
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

    def effective_parallelism(self) -> float | None:
        """Return the misses in flight that near time implies; None where the model has none."""
        return None


MODELS: Registry[type[Model]] = Registry("nearfar.predict.models", "model")

DEFAULT_MODEL = "inversion"
NAIVE_MODELS = ("null", "latency-ratio", "misses")
"""Shown beside every prediction: at small slowdowns a tiny error is no skill."""
