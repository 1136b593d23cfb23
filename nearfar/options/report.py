"""Options of `report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option
from nearfar.options.shared import (
    FarsOptions,
    HostOptions,
    JsonOptions,
    NearOptions,
    ProfiledOptions,
)

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, Plan, Prediction, RunRecord


@dataclass(frozen=True, kw_only=True)
class ReportOptions(HostOptions, FarsOptions, NearOptions, ProfiledOptions):
    """Options of `report`."""

    device: Sequence[str | DeviceProfile] = ()
    """One more memory whose latency-load curve is drawn; repeat for several."""
    plan: Sequence[Path | Plan] = ()
    """A plan that `nearfar place` wrote, to be shown with the others; repeat for several."""
    record: Sequence[Path | RunRecord] = ()
    """A record of `nearfar run --far` (or of a plan in paged memory): the page shows it beside the
    prediction of the paged --far; repeat for several."""
    budget: str | None = None
    """The budget of near memory the page opens with: 2GiB, or 25% of what plans place."""
    against: Path | Prediction | None = None
    """A prediction of the same program, such as of another host: the page says whether both agree
    within their intervals, and which inputs make the difference."""
    phase: str = "total"
    """The phase the page opens with; ``total`` is the whole run."""
    sources: Sequence[Path] = ()
    """A folder that holds the program's source files, if they moved; repeat for several."""


@dataclass(frozen=True, kw_only=True)
class PageOptions(JsonOptions):
    """Where the page goes."""

    output: Annotated[Path | None, Option(short="-o")] = None
    """File to write the page to."""

    def check_options(self) -> None:
        """Refuse a command that neither writes nor prints its result."""
        if self.output is None and not self.json:
            raise CommandError("there is nothing to write: name a file with -o, or ask for --json")
