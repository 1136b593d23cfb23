"""Which page size a program's memory has, and the figures measured with it.

A random access over 4 KiB pages waits for page walks too, and the curves differ a lot: 166 and
271 ns a miss were measured on one machine. Near time must be read off the curve of the pages
that the program had.
"""

from __future__ import annotations

from nearfar.base.errors import NearfarError
from nearfar.base.units import PAGE_BYTES, parse_size_bytes
from nearfar.devices import curves
from nearfar.documents.device import ChainsFigure, DeviceProfile

LARGEST_HIT_REGION_BYTES = 32 << 10
"""A region at most so large is held by every first-level data cache of the last decade."""


def parse_page_bytes(text: str) -> int:
    """Parse a page size as typed; what is no page size is refused."""
    size_bytes = parse_size_bytes(text)
    if size_bytes < PAGE_BYTES or size_bytes & (size_bytes - 1):
        raise NearfarError(f"{text!r} is no page size: write 4KiB, 2MiB or 1GiB")
    return size_bytes


def program_page_bytes(near: DeviceProfile) -> int | None:
    """Return the page size programs get where `near` was measured; None: the largest measured.

    Unless transparent huge pages are given to all, a program that does not ask for them has
    small pages.
    """
    if near.measured is None:
        return None
    setting = near.measured.environment.get("transparent_huge_pages", "")
    return PAGE_BYTES if setting in ("madvise", "never") else None


def chains(device: DeviceProfile, page_bytes: int | None) -> list[ChainsFigure]:
    """Return the chains curve with pages of `page_bytes`; without such, the largest pages'."""
    exact = {f.chains: f for f in device.chains if page_bytes and f.page_bytes == page_bytes}
    return [exact[count] for count in sorted(exact)] or curves.chains(device)


def walk_ns(device: DeviceProfile, page_bytes: int | None) -> float:
    """Return what page walks add to one miss with pages of `page_bytes`, ns.

    The difference of one chain's cost with these pages and with the largest measured.
    """
    small, large = chains(device, page_bytes), curves.chains(device)
    if not small or not large:
        return 0.0
    return max(0.0, small[0].value_ns - large[0].value_ns)


def hit_ns(device: DeviceProfile) -> float | None:
    """Return the latency of the first-level cache, ns; None where it was not measured."""
    found = [
        figure.value_ns
        for figure in curves.random_reads(device)
        if figure.region_bytes is not None and figure.region_bytes <= LARGEST_HIT_REGION_BYTES
    ]
    return min(found, default=None)
