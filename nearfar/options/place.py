"""Options of `place`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import CoreOptions, DeliveryOptions, HostOptions, PagesOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile


Allowed = Literal["parts", "interleave", "moves", "all", "whole"]
"""Extensions of a plan beyond whole objects that stay where they are; whole: none."""

Over = Literal["mean", "worst"]
"""How the slowdowns of several inputs are summarised."""

Judge = Literal["value", "high"]
"""The number of a slowdown's estimate that must meet a goal."""


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(CoreOptions, PagesOptions, HostOptions):
    """Options of `place`."""

    profile: Annotated[Sequence[Path | WorkloadProfile], Option(position="rest")] = ()
    """Files that `nearfar profile` wrote: several are inputs of one program, placed together. With
    --export also a plan that this verb wrote before."""
    near: str | DeviceProfile | None = None
    """The memory the program was profiled in: a file of `nearfar measure`, or a library device."""
    far: Sequence[str | DeviceProfile] = ()
    """Far memory: a library device (`nearfar device list`) or a device file, with a capacity if it
    is limited, such as cxl-micron-cz120:64GiB; repeat for several."""
    memories: Path | None = None
    """A TOML or JSON file of near and far memories, capacities and prices, instead of --far."""
    budget: Annotated[str | None, Option(any_text=True)] = None
    """Near memory to use: a size with its unit (2GiB is 2 x 2^30 bytes, 2GB is 2 x 10^9), a share
    of the program's memory (25%), or a share of the price of everything near (price:40%). 0 puts
    everything far."""
    slo: float | None = None
    """Instead of a budget: the greatest slowdown, such as 1.10 (10 % slower than with everything
    near);
    the plan uses the least near memory that meets it."""
    slo_by: Judge = "value"
    """Which number must meet --slo: the predicted value, or the high end of its interval."""
    phase: str = "total"
    """The phase whose time is minimised; ``total`` is the whole run."""
    over: Over = "mean"
    """With several profiles: minimise the mean or the worst of their slowdowns."""
    allow: Sequence[Allowed] = ()
    """Steps that the plan may take besides placing whole objects: split large objects (parts),
    interleave the pages of the largest streams (interleave), move objects between phases (moves);
    repeat for several, or all; whole: none of them. Default: parts where they pay."""
    optimiser: str = "exact"
    """Optimiser that makes the plan: exact, greedy, hot-first or x-mem. The others are timed for
    comparison."""
    model: str = "best"
    """Model that times the placements: best, or any other of predict, such as misses,
    latency-ratio or null."""
    machine: Path | MachineProfile | None = None
    """File that `nearfar machine --measure` wrote: says which memories slow each other down, and
    how fast data moves between them."""
    near_price: float | None = None
    """Relative price of a byte near; default 5 (X-Mem, EuroSys 2016: DRAM costs 5x NVM per bit)."""
    far_price: Sequence[float] = ()
    """Relative price of a byte far; default 1. Repeat for several far memories, in their order."""
    move_gb_per_s: float | None = None
    """Rate at which data moves between memories, in GB/s; default: as measured with --machine, else
    from the devices' figures."""
    map: Sequence[str] = ()
    """Where a memory of the plan is, such as near=node:0 or far=node:1; repeat for several."""
    details: Annotated[bool, Option(position="none")] = True
    """Also list undecided objects and what other freedoms would save, which takes most of the
    time."""

    def check_options(self) -> None:
        """Refuse options without the one they belong to."""
        if not self.profile:
            raise CommandError(
                "there is nothing to place: name a file that `nearfar profile` wrote"
            )
        if self.over == "worst" and len(self.profile) == 1:
            raise CommandError(
                "--over worst needs several profiles: a single profile has one slowdown"
            )
        if self.slo is None and self.slo_by == "high":
            raise CommandError("--slo-by needs --slo: add --slo, such as --slo 1.10")
        if "whole" in self.allow and len(self.allow) > 1:
            raise CommandError("--allow whole leaves out all other steps: give it alone")
        if self.memories is not None and self.far:
            raise CommandError("far memories are in --memories already: leave out --far")


@dataclass(frozen=True, kw_only=True)
class ExportOptions(DeliveryOptions):
    """Where a plan goes."""

    export: str | None = None
    """Print the plan for another tool instead of the table: numactl, mbind, memkind, kubernetes
    or json."""

    def check_options(self) -> None:
        """Refuse two formats at once."""
        if self.export is not None and self.json:
            raise CommandError("--export prints its own format: leave out --json")
