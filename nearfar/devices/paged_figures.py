"""Cost of a page of a paged memory, as the model and the list of devices use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

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
    retouches: float = 0.0


DEFAULT_MOVE = PageMove()


def fault_cost(device: DeviceProfile, move: PageMove = DEFAULT_MOVE) -> FaultFigure:
    """Return the device's figure for `move`, between two measured compressed shares if need be.

    Where a figure with this operation, pattern or number of threads is missing, the nearest stands
    in. Raises NearfarError where the device has no figure of the event.
    """
    every = [row for row in device.faults if row.event == move.event and not row.huge_pages]
    rows = [row for row in every if not row.retouches] or every
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
    plain = _at_share(rows, move.compressed_share)
    return _looking_further(plain, every, move.retouches)


def _looking_further(
    plain: FaultFigure, every: Sequence[FaultFigure], retouches: float
) -> FaultFigure:
    """Return `plain` with what the kernel's search adds to an exchange at `retouches`.

    That does not depend on the data; beyond the measured curve it is that of its end.
    """
    more = sorted((row for row in every if row.retouches), key=lambda row: row.retouches or 0.0)
    if not more or not retouches:
        return plain
    shape = (more[0].operation, more[0].pattern, more[0].threads)
    none = [
        row
        for row in every
        if not row.retouches and (row.operation, row.pattern, row.threads) == shape
    ]
    curve = [*(none or [plain])[:1], *more]
    places = [math.log1p(row.retouches or 0.0) for row in curve]
    times: dict[str, float | None] = {}
    for key in ("value_ns", "low_ns", "high_ns"):
        ends = [row.value_ns if (end := getattr(row, key)) is None else end for row in curve]
        here = getattr(plain, key)
        added = float(np.interp(math.log1p(retouches), places, ends)) - curve[0].value_ns
        times[key] = None if here is None else max(0.0, here + added)
    return msgspec.structs.replace(plain, retouches=retouches, **times)


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
