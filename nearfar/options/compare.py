"""Options of `compare`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options
from nearfar.options.shared import DeliveryOptions


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Options):
    """Options of `compare`."""

    a: Annotated[Path, Option(position="first")]
    """The first document, the baseline; or a folder of documents of repeated runs."""
    b: Annotated[Path, Option(position="first")]
    """The document to judge against the baseline."""
    fail_over: str | None = None
    """A limit such as 5%: exit code 1 if something is worse by more than that, and not by chance.
    For an object or a line it is a share of the total."""
    correct: Literal["holm", "benjamini-hochberg", "none"] = "holm"
    """Correction for the number of values compared: holm (no false alarm in 95 of 100 comparisons),
    benjamini-hochberg (at most 5 % of the alarms are false), none."""
    edited: bool = False
    """The source changed between two profiles: allocation sites whose lines moved are recognised
    by their functions, and each is named in a warning."""
    across_machines: bool = False
    """Compare times although A and B come from different machines."""

    def check_options(self) -> None:
        """Refuse a limit that is no percentage."""
        self.limit()

    def limit(self) -> float | None:
        """Return --fail-over as a share; a bare number is refused, because 5 could mean 500 %."""
        if self.fail_over is None:
            return None
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", self.fail_over[:24])
        if match is None:
            raise CommandError(
                f"cannot read the limit {self.fail_over!r}: write a percentage, such as 5%"
            )
        return float(match[1]) / 100.0


@dataclass(frozen=True, kw_only=True)
class ComparisonFiles(DeliveryOptions):
    """Where a comparison goes."""

    junit: Path | None = None
    """File to write JUnit XML to."""
    html: Path | None = None
    """File to write a page to that shows both documents side by side."""
