"""Options of `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import (
    CoreOptions,
    FarsOptions,
    HostOptions,
    InterferenceOptions,
    NearOptions,
    PagesOptions,
    ProfiledOptions,
)

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, MachineProfile


@dataclass(frozen=True, kw_only=True)
class PredictOptions(
    CoreOptions,
    InterferenceOptions,
    PagesOptions,
    HostOptions,
    FarsOptions,
    NearOptions,
    ProfiledOptions,
):
    """Options of `predict`."""

    more: Annotated[Sequence[Path], Option(position="rest")] = ()
    """More files of counters, of the same program at other sizes."""
    model: str | None = None
    """best: window where that fits near time, else inversion. inversion: misses in flight from near
    time. chains: the same, all misses alike. window: a simulated core runs the profile's bursts.
    traffic: bytes over bandwidth. xmem: effective latency of each pattern. counters: totals by
    interval. stalls: counted stall cycles. persist: inversion with flushes and fences. interleave:
    pages interleaved. memory-mode: near memory caches the far one. code: counts times costs.
    misses, latency-ratio and null are always shown. Default: best; code for a file of formulas;
    counters for counters."""
    models: Sequence[str] = ()
    """More models to show, ``all`` for every model; one that cannot be used says what it needs."""
    phase: Sequence[str] = ()
    """Only this phase of the profile; repeat for several. Default: all."""
    explain: Sequence[str] = ()
    """Show step by step how the time of this phase, or the time that this object adds, is computed;
    repeat for several."""
    llc: str | None = None
    """For a machine with another last-level cache: its size, such as 32MiB. The profile's miss
    curves give the misses."""
    on: str | MachineProfile | None = None
    """Predict for another machine: a name of the library (cxl-dmsim, optane-study and others), a
    file of such a machine, or one that `nearfar machine` wrote. Near memory, far memories, cache,
    clock, core and pages are that machine's; assumptions about it are listed. Give the near time
    measured there (--near-time, wall time), or have it predicted (--here)."""
    near: str | DeviceProfile = ""
    """The memory the program was profiled in (with --here or --on: near memory of the other
    machine): a file of `nearfar measure`, or a library device. Default: with --on, that
    machine's."""
    far: Sequence[str | DeviceProfile] = ()
    """A library device (`nearfar device list`) or a device file; repeat for several, ``all`` for
    the whole library. Default: with --on, that machine's far memories."""
    near_time: Sequence[str] = ()
    """CPU time (with --on: wall time) with everything near, measured on another machine or with
    another build, such as 3.5s or, for one phase, get=2.1s; repeat for several."""
    here: str | DeviceProfile | None = None
    """Predict near time on another machine too: the memory that the program was profiled in; --near
    is then the other machine's."""
    frequency: float = 1.0
    """With --here: the other machine's clock over this one's."""
    size: Sequence[str] = ()
    """For a file of formulas, such as n=1e7; repeat for several. Default: what the file says. For
    several files of counters, a size between theirs."""
    near_size: str | None = None
    """For memory-mode: size of the near memory that caches the far one, such as 16GiB. Default: the
    capacity in the near memory's file."""
    near_budget: Sequence[str] = ()
    """For a memory that is moved in pages (zram, swap): how much of the program's memory stays
    near, a size or a share such as 60%, or several: 75%,50%,25% (default). Phases and total are
    those of the first."""
    pipeline: str | None = None
    """GENERATE,ANALYSE: two phases as the stages of a pipeline with two locks. The first works in
    near memory, its results are transferred, the second works in far memory. Prints times and idle
    times of both for every split of the threads. With --set-size."""
    sets: int | None = None
    """With --pipeline: number of parts (sets) that the work of both phases is divided into.
    Default: 1000."""
    set_size: str | None = None
    """With --pipeline: bytes transferred for each set, such as 128MB."""
    threads: int | None = None
    """With --pipeline: threads of both stages together. With --on: threads that share the work
    there. Default: as many as the profiled program had."""
    calibrated: Path | None = None
    """File that `nearfar validate -o` wrote: calibrates the interval if it validated this model on
    this kind of far memory, else widens it to cover the other models shown."""
    max_objects: Annotated[int, Option(position="none")] = 1000
    """Most objects listed per phase, those that add most first; a plan considers all of them."""

    def check_options(self) -> None:
        """Refuse options without the one they belong to."""
        if self.near_size is not None and not {"memory-mode", "all"} & {self.model, *self.models}:
            raise CommandError(
                "--near-size is the size of the near memory that caches the far one, for the model "
                "memory-mode: add --model memory-mode or --models memory-mode"
            )
        if self.more and not self.size:
            raise CommandError("several files of counters: name the size to predict, --size n=1e6")
        if (self.pipeline is None) != (self.set_size is None):
            raise CommandError(
                "--pipeline and --set-size go together: the second is the bytes of each transfer"
            )
        if self.pipeline is None and self.sets is not None:
            raise CommandError("--sets goes with --pipeline")
        if self.pipeline is None and self.on is None and self.threads is not None:
            raise CommandError("--threads needs --pipeline or --on")
        if self.on is None and (self.near == "" or not self.far):
            raise CommandError(
                "give near memory with --near and far memory with --far; only --on MACHINE has both"
            )
        if self.on is not None and (self.llc is not None or self.frequency != 1.0):
            raise CommandError(
                "--on MACHINE sets cache and clock: leave out --llc and --frequency, and change a "
                "copy of the machine's file instead"
            )
        if self.here is None and self.frequency != 1.0:
            raise CommandError(
                "--frequency needs --here: a near time measured there needs no correction"
            )
