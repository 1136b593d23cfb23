"""Options that decide what a measurement samples, and its callbacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nearfar.options.measure import MeasureOptions
from nearfar.samples.point import Sample, SamplePoint

Progress = Callable[[str, float], None]
"""Callback for the current step and the share of the work done, 0 to 1."""

SAMPLES_ENDING = ".samples.parquet"


def no_progress(_what: str, _share: float) -> None:
    """Ignore progress."""


def ignore(_point: SamplePoint, _sample: Sample) -> None:
    """Ignore a sample."""


def samples_path(options: MeasureOptions) -> Path | None:
    """Return the file for all samples; None next to a device or pipe such as /dev/stdout."""
    output = options.output
    if output is None or not options.samples or (output.exists() and not output.is_file()):
        return None
    return output.with_suffix(SAMPLES_ENDING)


def resume_settings(options: MeasureOptions) -> dict[str, str]:
    """Return the options in which a resumed measurement must agree with the first."""
    return {
        "quick": str(options.quick),
        "threads": str(options.threads or "all"),
        "largest": str(options.largest_bytes or "by the caches"),
        "spin": str(options.spin),
        "seed": str(options.seed),
        "only": ",".join(options.parts()) or "everything",
    }
