"""Settings of a measurement, and its progress callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.memories.spec import MemorySpec
from nearfar.samples.point import Sample, SamplePoint

Progress = Callable[[str, float], None]
"""Callback for the current step and the share of the work done, 0 to 1."""


def ignore(_point: SamplePoint, _sample: Sample) -> None:
    """Ignore a sample."""


@dataclass(frozen=True)
class Settings:
    """Memory, parts and time of one measurement."""

    spec: MemorySpec
    quick: bool = False
    seconds: float | None = None
    """Time for everything; None: `parts.QUICK_S` or `parts.FULL_S`."""
    repetitions: int | None = None
    """Exact number of rounds of the surfaces; None: until narrow or out of time."""
    threads: int | None = None
    """Maximum threads; None: every core of the node."""
    largest_bytes: int = 0
    """Largest region; 0: by the caches."""
    spin: bool = True
    seed: int = 1
    """Seed of a simulated memory's noise."""
    only: tuple[str, ...] = ()
    """Surfaces and other parts to measure; empty: all."""
    output: Path | None = None
    """Path of the profile; samples are stored next to it. None: they are not stored."""
    keep: bool = True
    """Whether samples are stored if there is an output."""
    resume: bool = False
    """Resume with the samples next to `output`."""
    since: Path | None = None
    """Earlier profile to compare with; None: the file at `output` before it is replaced."""
    accept_noise: bool = True
    """Whether a measurement beyond the limit of noise (`quiet`) is taken as it is."""
    name: str = ""
    title: str = ""
    seen: Callable[[SamplePoint, Sample], None] = ignore
    """Callback for each new sample, in the sampling thread."""

    def resume_settings(self) -> dict[str, str]:
        """Return the settings in which a resumed measurement must agree with the first."""
        return {
            "quick": str(self.quick),
            "threads": str(self.threads or "all"),
            "largest": str(self.largest_bytes or "by the caches"),
            "spin": str(self.spin),
            "seed": str(self.seed),
            "only": ",".join(self.only) or "everything",
        }


def no_progress(_what: str, _share: float) -> None:
    """Ignore progress."""
