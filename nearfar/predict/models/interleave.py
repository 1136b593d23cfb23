"""Pages interleaved between near and far memory, as weighted interleaving does.

Moved data is interleaved, not moved entirely: by default in the ratio of both memories' bandwidths,
which is the default of kernels' weighted interleave, and best for programs bound by bandwidth.
Which page is hot does not matter. Times are the inversion's with that share of every object far;
both memories' bandwidths are used at once. `ratios` has other ratios.
"""

from __future__ import annotations

from fractions import Fraction

from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, Perturbation, RatioTime
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import Array, PhaseTraffic

RATIOS = ((1, 0), (8, 1), (4, 1), (3, 1), (2, 1), (1, 1), (1, 2), (0, 1))
"""Ratios of near to far pages that are shown."""

MAX_SMALLER_WEIGHT = 8
"""Maximum of the smaller weight: kernels interleave page by page, so weights are small integers."""
MAX_WEIGHT = 255
"""Maximum weight: Linux stores it in a byte."""


@MODELS.register("interleave")
class InterleaveModel(InversionModel):
    """The inversion with a share of everything moved."""

    name = "interleave"
    everything_far = False

    def __init__(
        self,
        phase: PhaseTraffic,
        near: MemoryCosts,
        far: MemoryCosts,
        perturbation: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, perturbation)
        # From unperturbed figures: the kernel uses one ratio.
        self.weights = weights(near, far)

    def times_ns(self, moved: Array) -> Array:
        """Return time with the moved pages interleaved, ns."""
        near_pages, far_pages = self.weights
        return super().times_ns(moved * (far_pages / (near_pages + far_pages)))

    def ratios(self) -> list[RatioTime]:
        """Return times with all pages interleaved in fixed ratios and in that of bandwidths."""
        total = self.phase.total
        chosen = sorted({*RATIOS, self.weights}, key=lambda pair: pair[1] / sum(pair))
        return [
            RatioTime(n, f, float(InversionModel.times_ns(self, total * (f / (n + f)))))
            for n, f in chosen
        ]

    def remarks(self) -> list[str]:
        """Return the ratio used, in a sentence."""
        near_pages, far_pages = self.weights
        return [
            f"pages are interleaved {near_pages} near to {far_pages} far, the ratio of read "
            "bandwidths: all objects alike, whichever are hot"
        ]


def weights(near: MemoryCosts, far: MemoryCosts) -> tuple[int, int]:
    """Return near and far pages in the ratio of sequential read bandwidths, as integers."""
    ratio = Fraction(far.read_ns[1] / near.read_ns[1])
    if ratio >= 1:
        pages = ratio.limit_denominator(MAX_SMALLER_WEIGHT)
        return (min(pages.numerator, MAX_WEIGHT), pages.denominator)
    pages = (1 / ratio).limit_denominator(MAX_SMALLER_WEIGHT)
    return (pages.denominator, min(pages.numerator, MAX_WEIGHT))
