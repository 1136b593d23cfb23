"""Cost of a page of a paged memory, as the model and the list of devices use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
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
    """Compressed bytes over page bytes; None: the middle of the device's values."""
    compression_work: float | None = None
    """Work of a compressor on a page, in positions searched; if the device has times by work, the
    size is not used."""
    threads: int = 1
    retouches: float = 0.0


DEFAULT_MOVE = PageMove()


def fault_cost(device: DeviceProfile, move: PageMove = DEFAULT_MOVE) -> FaultFigure:
    """Return the device's figure for `move`, between two measured contents of pages if need be.

    Where a figure with this operation, pattern or number of threads is missing, the nearest stands
    in. Raises NearfarError where the device has no figure of the event.
    """
    every = [row for row in device.faults if row.event == move.event and not row.huge_pages]
    rows = _nearest(every, move)
    if not rows:
        raise NearfarError(
            f"device {device.name!r} has no time of a page ({move.event}): it is no paged memory; "
            "measure one with `nearfar measure zram -o zram.json`, or name one of `nearfar device "
            "list`"
        )
    plain = _at_content(rows, move)
    if move.event == "exchange":
        plain = _with_content(device, plain, move)
    return _looking_further(plain, every, move.retouches)


def _nearest(every: list[FaultFigure], move: PageMove) -> list[FaultFigure]:
    """Return the figures that differ from `move` in the content of pages only, or the nearest."""
    rows = [row for row in every if not row.retouches] or every
    rows = [row for row in rows if row.pattern == move.pattern] or rows
    rows = [row for row in rows if row.operation == move.operation] or rows
    threads = min(
        (row.threads for row in rows),
        key=lambda there: (abs(there - move.threads), there),
        default=1,
    )
    return [row for row in rows if row.threads == threads]


def _with_content(device: DeviceProfile, plain: FaultFigure, move: PageMove) -> FaultFigure:
    """Return an exchange with the additional time of other content, of both pages.

    Exchanges are measured with one content, both halves of them with several.
    """
    if move.compression_work is None or plain.compression_work in (None, move.compression_work):
        return plain
    added = 0.0
    events: tuple[Literal["fault", "evict"], ...] = ("fault", "evict")
    for event in events:
        rows = [row for row in device.faults if row.event == event and not row.huge_pages]
        if not (rows := _nearest(rows, PageMove(event))):
            return plain
        here = replace(move, event=event)
        there = replace(here, compression_work=plain.compression_work)
        added += _at_content(rows, here).value_ns - _at_content(rows, there).value_ns
    times = {
        key: None if (time := getattr(plain, key)) is None else max(0.0, time + added)
        for key in ("value_ns", "low_ns", "high_ns")
    }
    return msgspec.structs.replace(plain, compression_work=move.compression_work, **times)


def _looking_further(
    plain: FaultFigure, every: Sequence[FaultFigure], retouches: float
) -> FaultFigure:
    """Return `plain` with the time that the kernel's search adds to an exchange at `retouches`.

    The added time does not depend on the data; beyond the measured curve it is that of the curve's
    end.
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


def _at_content(rows: list[FaultFigure], move: PageMove) -> FaultFigure:
    """Return the row at a page's content, on the line between its two neighbours."""
    key = "compression_work"
    if move.compression_work is None or all(row.compression_work is None for row in rows):
        key = "compressed_share"
    known = sorted((row for row in rows if getattr(row, key) is not None), key=attrgetter(key))
    if not known:
        return rows[0]
    at = getattr(move, key)
    if at is None:
        return known[len(known) // 2]
    below = [row for row in known if getattr(row, key) <= at]
    above = [row for row in known if getattr(row, key) > at]
    if not below or not above:
        return above[0] if above else below[-1]
    low, high = below[-1], above[0]
    start, end = getattr(low, key), getattr(high, key)
    part = (at - start) / (end - start)
    times = {
        name: _between(getattr(low, name), getattr(high, name), part)
        for name in FaultFigure.__struct_fields__
        if name.endswith("_ns")
    }
    return msgspec.structs.replace(low, **{key: at}, **times)


def _between(low: float | None, high: float | None, part: float) -> float | None:
    return None if low is None or high is None else low + part * (high - low)
