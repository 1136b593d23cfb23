"""Results of inference: figures, what was not seen and why, and the evidence for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.device import (
    BufferFigure,
    InterleaveFigure,
    StallFigure,
    WriteQueueFigure,
)
from nearfar.measure.infer.resample import medians
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import Group, Sample, SamplePoint

MEASURED_HERE: dict[str, Any] = {"how": "measured", "source": "here"}
"""Fields of every inferred figure; its confidence marks it as inferred."""


@dataclass
class Findings:
    """Everything inferred of one memory."""

    buffers: list[BufferFigure] = field(default_factory=list)
    """Caches before the memory (L1, L2, ...), then buffers of the device, nearest first."""
    write_queues: list[WriteQueueFigure] = field(default_factory=list)
    interleaves: list[InterleaveFigure] = field(default_factory=list)
    stalls: list[StallFigure] = field(default_factory=list)
    granularity_bytes: int | None = None
    """Block of the memory's first buffer: what it fetches at least; None: not seen."""
    granularity_confidence: float | None = None
    not_seen: dict[str, str] = field(default_factory=dict)
    """Reasons why something is not in the samples, by its name."""
    evidence: dict[str, Evidence] = field(default_factory=dict)
    """By the name that figures give as `evidence`."""
    taken: dict[SamplePoint, list[Sample]] = field(default_factory=dict)
    """All samples, by point."""
    seconds: float = 0.0
    ended: str = ""
    """"done", or "time" where an inference had to stop early."""


def make_evidence(
    group: Group,
    title: str,
    axes: tuple[str, str],
    x: Sequence[float] | NDArray[np.float64],
    samples: Sequence[NDArray[np.float64]],
    *,
    knees: Sequence[float] = (),
    fitted: NDArray[np.float64] | None = None,
    log_x: bool = True,
) -> Evidence:
    """Return the curve of `samples` over `x`: medians with quartiles."""
    quartiles = np.array([np.percentile(values, (25, 75)) for values in samples])
    return Evidence(
        group=group,
        title=title,
        x_name=axes[0],
        y_name=axes[1],
        x=np.asarray(x, dtype=float),
        y=medians(samples),
        y_low=quartiles[:, 0],
        y_high=quartiles[:, 1],
        knees=tuple(knees),
        fitted=fitted,
        log_x=log_x,
    )
