"""Read shares: from the share of all traffic, as predictions use it, to a kernel that makes it.

An ordinary store reads its line before it writes it back, so it is half reads; less than half
takes stores past the caches. Of lines touched of which r are loaded and 1 - r stored, ordinary
stores move 2 - r lines for each and their traffic is 1 / (2 - r) reads; nt-stores move one.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base.errors import NearfarError


@dataclass(frozen=True)
class Mixture:
    """A kernel and its share of loads among the lines it touches."""

    traffic_share: float
    """Reads over all traffic, 0 to 1."""
    kernel: str
    """``mixed`` or ``mixed-nt``."""
    line_share: float


def mixture(traffic_share: float) -> Mixture:
    """Return what makes traffic of `traffic_share` reads, 0 to 1; refuses any other."""
    if not 0.0 <= traffic_share <= 1.0:
        raise NearfarError(
            f"a read share is between 0 % and 100 % of the traffic, not {traffic_share:.0%}"
        )
    if traffic_share < 0.5:
        return Mixture(traffic_share, "mixed-nt", traffic_share)
    return Mixture(traffic_share, "mixed", round(2.0 - 1.0 / traffic_share, 6))


def traffic_share(kernel: str, line_share: float) -> float:
    """Return reads over all traffic of a mixture kernel that loads `line_share` of its lines."""
    share = line_share if kernel.startswith("mixed-nt") else 1.0 / (2.0 - line_share)
    return round(share, 4)


def traffic_per_payload(kernel: str, line_share: float) -> float:
    """Return lines that cross the bus for each line that a kernel with such loads touches."""
    return 1.0 if kernel.startswith("mixed-nt") else 2.0 - line_share
