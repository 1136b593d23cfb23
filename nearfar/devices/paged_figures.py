"""Cost of a page of a paged memory, as the model and the list of devices use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.documents.device import DeviceProfile, FaultFigure


@dataclass(frozen=True)
class PageMove:
    """A move of a page; the defaults are a random read."""

    event: Literal["fault", "evict", "exchange"] = "fault"
    operation: Literal["read", "write"] = "read"
    pattern: Literal["random", "sequential"] = "random"
    compressed_share: float | None = None
    """Compressed bytes over page bytes; None: the middle of what the device has."""
    threads: int = 1


DEFAULT_MOVE = PageMove()


def fault_cost(device: DeviceProfile, move: PageMove = DEFAULT_MOVE) -> FaultFigure:
    """Return the device's figure for `move`, between two measured compressed shares if need be.

    Where a figure with this operation, pattern or number of threads is missing, the nearest stands
    in. Raises NearfarError where the device has no figure of the event.
    """
    rows = [row for row in device.faults if row.event == move.event and not row.huge_pages]
    if not rows:
        raise NearfarError(
            f"device {device.name!r} has no time of a page ({move.event}): it is no paged memory; "
            "measure one with `nearfar measure zram -o zram.json`, or name one of `nearfar device "
            "list`"
        )
    rows = [row for row in rows if row.pattern == move.pattern] or rows
    rows = [row for row in rows if row.operation == move.operation] or rows
    threads = _nearest_threads(rows, move.threads)
    rows = [row for row in rows if row.threads == threads]
    return _at_share(rows, move.compressed_share)


def _nearest_threads(rows: list[FaultFigure], threads: int) -> int:
    return min((row.threads for row in rows), key=lambda there: (abs(there - threads), there))


def _at_share(rows: list[FaultFigure], share: float | None) -> FaultFigure:
    """Return the row at a compressed share, on the line between its two neighbours."""
    known = sorted(
        (row for row in rows if row.compressed_share is not None),
        key=lambda row: row.compressed_share or 0.0,
    )
    if not known:
        return rows[0]
    if share is None:
        return known[len(known) // 2]
    below = [row for row in known if (row.compressed_share or 0.0) <= share]
    above = [row for row in known if (row.compressed_share or 0.0) > share]
    if not below or not above:
        return above[0] if above else below[-1]
    low, high = below[-1], above[0]
    start, end = low.compressed_share or 0.0, high.compressed_share or 0.0
    part = (share - start) / (end - start)
    times = {
        key: _between(getattr(low, key), getattr(high, key), part)
        for key in FaultFigure.__struct_fields__
        if key.endswith("_ns")
    }
    return msgspec.structs.replace(low, compressed_share=share, **times)


def _between(low: float | None, high: float | None, part: float) -> float | None:
    return None if low is None or high is None else low + part * (high - low)
