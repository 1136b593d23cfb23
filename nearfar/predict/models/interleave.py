"""Pages dealt out between near and far memory, as weighted interleaving does.

What is moved is dealt out, not moved whole: by default in the ratio of both memories' bandwidths,
which is what kernels' weighted interleave takes where nobody sets it, and is best for programs
that bandwidth holds back. Which page is hot plays no part. Times are the inversion's with that
share of every object far; both memories' bandwidths serve at once. `ratios` has other ratios.
"""

from __future__ import annotations

from fractions import Fraction

from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS, NO_PERTURBATION, Perturbation, RatioTime
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.traffic import Array, PhaseTraffic

RATIOS = ((1, 0), (8, 1), (4, 1), (3, 1), (2, 1), (1, 1), (1, 2), (0, 1))
"""Near to far pages that are shown."""

MOST_WEIGHT = 8
"""Weights are small whole numbers: kernels deal out pages one by one."""
GREATEST_WEIGHT = 255
"""Linux keeps a weight in a byte."""


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
        doubt: Perturbation = NO_PERTURBATION,
    ) -> None:
        super().__init__(phase, near, far, doubt)
        # Of what devices say, not of what is in doubt: the kernel was given one ratio.
        self.weights = weights(near, far)

    def times_ns(self, moved: Array) -> Array:
        """Return time with the moved pages dealt out, ns."""
        near_pages, far_pages = self.weights
        return super().times_ns(moved * (far_pages / (near_pages + far_pages)))

    def ratios(self) -> list[RatioTime]:
        """Return times with all pages dealt out in fixed ratios and in that of bandwidths."""
        total = self.phase.total
        chosen = sorted({*RATIOS, self.weights}, key=lambda pair: pair[1] / sum(pair))
        return [
            RatioTime(n, f, float(InversionModel.times_ns(self, total * (f / (n + f)))))
            for n, f in chosen
        ]

    def remarks(self) -> list[str]:
        """Say what was dealt out."""
        near_pages, far_pages = self.weights
        return [
            f"pages are dealt out {near_pages} near to {far_pages} far, in the ratio of read "
            "bandwidths: all objects alike, whatever is hot"
        ]


def weights(near: MemoryCosts, far: MemoryCosts) -> tuple[int, int]:
    """Return near and far pages in the ratio of sequential read bandwidths, whole numbers."""
    ratio = Fraction(far.read_ns[1] / near.read_ns[1])
    if ratio >= 1:
        found = ratio.limit_denominator(MOST_WEIGHT)
        return (min(found.numerator, GREATEST_WEIGHT), found.denominator)
    found = (1 / ratio).limit_denominator(MOST_WEIGHT)
    return (found.denominator, min(found.numerator, GREATEST_WEIGHT))
