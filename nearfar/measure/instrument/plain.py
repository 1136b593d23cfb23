"""The plain chase: what every probe and every protocol is compared with."""

from __future__ import annotations

from typing import Literal

from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint


def plain_chase(
    facts: SubjectFacts, figure: Literal["instrument", "protocol"] = "instrument"
) -> SamplePoint:
    """Return dependent loads, random over the largest region, on the largest pages there are."""
    return SamplePoint(figure, "chase", facts.page_sizes[0], facts.largest_bytes)


def page_name(page_bytes: int) -> str:
    """Return ``2 MiB`` or ``4 KiB``."""
    return f"{page_bytes >> 20} MiB" if page_bytes >= 1 << 20 else f"{page_bytes >> 10} KiB"
