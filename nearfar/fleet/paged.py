"""Fleets with paged memory: slowdowns of each profile by offloaded share.

The sums of a fleet count lines, but faults depend on page curves, which only the profiles have. So
profiles are read again, at most `MAX_PROFILES` of a type, the first in the order of their hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import PAGE_BYTES
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.fleet import Judge
from nearfar.documents.header import read_document
from nearfar.fleet.aggregate import Sums
from nearfar.fleet.cache import problem
from nearfar.fleet.slowdowns import SHARES, Slowdowns
from nearfar.fleet.sources import read_source
from nearfar.predict.paged import footprint_pages, paged_phases
from nearfar.predict.paged_device import paged_device

MAX_PROFILES = 2000
"""Most profiles of a type that are read (about ten minutes); the others are assumed to be like
them."""
MIDDLE_COMPRESSED = 0.5
"""Compressed share of pages if no profile has it."""


@dataclass(frozen=True)
class PagedRow:
    """One profile's slowdown by share of its pages that is offloaded."""

    host_type: str
    near_ns: float
    whole_bytes: float
    slowdowns: tuple[float, ...]
    compressed_share: float


def paged_rows(
    sums: Sums,
    device: DeviceProfile,
    judge: Judge,
    *,
    leave_out_bad: bool,
) -> Iterator[PagedRow]:
    """Yield the slowdowns of the fleet's profiles in `device`; refuse those without page curves.

    Files that are left out are counted for each memory, since other memories may use them.
    """
    for uri, name in sums.drawn(MAX_PROFILES):
        try:
            workload = read_document(read_source(uri), uri, WorkloadProfile)
            yield _row(name, workload, device, judge)
        except OSError as error:
            raise problem(f"{uri} can no longer be read: {error}") from error
        except NearfarError as error:
            if not leave_out_bad:
                raise problem(f"{uri} cannot be predicted: {error}") from error
            why = f"has no page curves, or too few pages, for {device.name}"
            sums.left_out[why] = sums.left_out.get(why, 0) + 1


def _row(name: str, workload: WorkloadProfile, device: DeviceProfile, judge: Judge) -> PagedRow:
    phases = paged_phases(workload)
    pages = footprint_pages(phases)
    least = phases[0].sizes_pages[0] * PAGE_BYTES
    whole = pages * PAGE_BYTES
    # No program runs in less than the minimum of near memory, so that part cannot be offloaded.
    budgets = [f"{round(max((1.0 - share) * whole, least))}B" for share in SHARES]
    prediction = paged_device(workload, device, budgets, (), 1)
    assert prediction.paged is not None
    slowdowns = [getattr(row.slowdown, judge) for row in prediction.paged.budgets]
    shares = [phase.compressed_share for phase in phases if phase.compressed_share is not None]
    return PagedRow(
        host_type=name,
        near_ns=sum(phase.near_cpu_time_ns.value for phase in workload.phases),
        whole_bytes=whole,
        slowdowns=(1.0, *slowdowns[1:]),
        compressed_share=sum(shares) / len(shares) if shares else MIDDLE_COMPRESSED,
    )


def slowdowns_of(rows: Sequence[PagedRow]) -> Slowdowns:
    """Return the slowdowns of all rows."""
    types = sorted({row.host_type for row in rows})
    return Slowdowns(
        types=types,
        kind=np.array([types.index(row.host_type) for row in rows]),
        near_ns=np.array([row.near_ns for row in rows]),
        whole=np.array([row.whole_bytes for row in rows]),
        added=np.array([row.slowdowns for row in rows]).T - 1.0,
    )


def price_per_gib(
    rows: list[PagedRow], device: DeviceProfile, near_per_gib: float, far_per_gib: float
) -> float:
    """Return the price of 1 GiB of offloaded data, which uses near memory if compressed."""
    if device.paged is None or not device.paged.in_dram:
        return far_per_gib
    whole = sum(row.whole_bytes for row in rows)
    kept = sum(row.whole_bytes * row.compressed_share for row in rows)
    return near_per_gib * kept / whole
