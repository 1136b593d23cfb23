"""Options of `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import (
    FarsOptions,
    HostOptions,
    InterferenceOptions,
    NearOptions,
    PagesOptions,
    ProfiledOptions,
)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(
    InterferenceOptions, PagesOptions, HostOptions, FarsOptions, NearOptions, ProfiledOptions
):
    """Options of `predict`."""

    more: Annotated[Sequence[Path], Option(position="rest")] = ()
    """More files of counters, of the same program at other sizes."""
    model: str | None = None
    """best; inversion (the same, its interval without what other models add); chains (the same
    without classes); traffic (bytes over bandwidth); xmem (effective latency of each pattern);
    counters (totals alone); window (bursts); persist (flushes and fences); interleave (pages
    interleaved); memory-mode (near memory as a cache of the far one); or misses, latency-ratio,
    null, which are shown with any other. Default: best; for a file of formulas: code (counts times
    costs); for counters: counters."""
    models: Sequence[str] = ()
    """More models to show, ``all`` for every one; a model that cannot be used says what it
    needs."""
    phase: Sequence[str] = ()
    """Only this phase of the profile; repeat for several. Default: all."""
    llc: str | None = None
    """For a machine with another last-level cache: its size, such as 32MiB. Misses follow from the
    profile's miss curves."""
    near_time: Sequence[str] = ()
    """For another machine, or another build: CPU time with everything near as measured there, such
    as 3.5s or, for one phase, get=2.1s; repeat for several."""
    here: str | None = None
    """For another machine whose near time nobody measured: the memory the profile was taken in;
    --near is then the other machine's, and near times are predicted."""
    frequency: float = 1.0
    """With --here: the other machine's clock over this one's."""
    size: Sequence[str] = ()
    """For a file of formulas, such as n=1e7; repeat for several. Default: what the file says. For
    several files of counters, a size between theirs."""
    near_size: str | None = None
    """For memory-mode: how much near memory caches the far one, such as 16GiB. Default: the
    capacity in the near memory's file."""
    pipeline: str | None = None
    """GENERATE,ANALYSE: two phases as the stages of a pipeline with two locks, the first in near
    memory, the second after a transfer in the far one: times and idle times of both, for every
    split of the threads. With --set-size."""
    sets: int | None = None
    """With --pipeline: number of sets that both phases' whole work is divided into. Default:
    1000."""
    set_size: str | None = None
    """With --pipeline: what is transferred of each set, such as 128MB."""
    threads: int | None = None
    """With --pipeline: threads of both stages together. Default: as many as the profiled program
    had, at least 2."""
    calibrated: Path | None = None
    """File that `nearfar validate -o` wrote: intervals are calibrated where it validated this model
    on this kind of far memory, else widened to cover the results of the other models shown."""

    def check_options(self) -> None:
        """Refuse options without the one they belong to."""
        if self.near_size is not None and not {"memory-mode", "all"} & {self.model, *self.models}:
            raise CommandError(
                "--near-size is how much near memory caches the far one, for the model "
                "memory-mode: add --model memory-mode or --models memory-mode"
            )
        if self.more and not self.size:
            raise CommandError("several files of counters: say the size to predict, --size n=1e6")
        if (self.pipeline is None) != (self.set_size is None):
            raise CommandError(
                "--pipeline and --set-size go together: what is transferred of each set"
            )
        if self.pipeline is None and (self.sets is not None or self.threads is not None):
            raise CommandError("--sets and --threads go with --pipeline")
        if self.here is None and self.frequency != 1.0:
            raise CommandError(
                "--frequency goes with --here: near times measured there include its clock"
            )
