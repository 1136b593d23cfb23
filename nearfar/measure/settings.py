"""What a measurement is asked for, and what it tells while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.memories.spec import MemorySpec
from nearfar.samples.point import Sample, SamplePoint

Progress = Callable[[str, float], None]
"""Told what is going on and which share of the work is done, 0 to 1."""


def ignore(_point: SamplePoint, _sample: Sample) -> None:
    """Look at no sample."""


@dataclass(frozen=True)
class Settings:
    """What to measure and for how long."""

    spec: MemorySpec
    quick: bool = False
    seconds: float | None = None
    """For everything; None: `budget.QUICK_S` or `budget.FULL_S`."""
    repetitions: int | None = None
    """Exactly so many rounds of the surfaces; None: until narrow or out of time."""
    threads: int | None = None
    """At most so many threads; None: every core of the node."""
    largest_bytes: int = 0
    """Largest region; 0: by the caches."""
    spin: bool = True
    seed: int = 1
    """Of a simulated memory's noise."""
    only: tuple[str, ...] = ()
    """Surfaces and other parts to measure; empty: all."""
    output: Path | None = None
    """Where the profile goes; samples are kept beside it. None: they are not kept."""
    keep: bool = True
    """Whether samples are kept, where there is an output."""
    resume: bool = False
    """Go on with the samples beside `output`."""
    since: Path | None = None
    """An earlier profile to compare with; None: what is at `output` before it is replaced."""
    name: str = ""
    title: str = ""
    seen: Callable[[SamplePoint, Sample], None] = ignore
    """Told each sample once it is taken, in the thread that takes them."""

    def decides(self) -> dict[str, str]:
        """Return what decides which points there are: only the same may be resumed."""
        return {
            "quick": str(self.quick),
            "threads": str(self.threads or "all"),
            "largest": str(self.largest_bytes or "by the caches"),
            "spin": str(self.spin),
            "seed": str(self.seed),
            "only": ",".join(self.only) or "everything",
        }


def no_progress(_what: str, _share: float) -> None:
    """Tell nobody."""
