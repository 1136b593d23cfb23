"""The time to move one page of a paged memory, for the model and the list of devices."""

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
    """A move of one page; by default the move that a random read causes."""

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
    """Return the device's figure for `move`, interpolated between two measured page contents.

    If no figure has the operation, pattern or number of threads of `move`, the nearest figure
    replaces it. Raises NearfarError if the device has no figure of the event.
    """
    every = [row for row in device.faults if row.event == move.event and not row.huge_pages]
    rows = _nearest(every, move)
    if not rows:
        raise NearfarError(
            f"device {device.name!r} has no time of a page ({move.event}): it is no paged memory; "
            "measure one with `nearfar measure zram -o zram.json`, or name one of `nearfar device "
            "list`"
        )
    plain = _interpolated_by_content(rows, move)
    if move.event == "exchange":
        plain = _with_content(device, plain, move)
    return _with_search_time(plain, every, move.retouches)


def _nearest(every: list[FaultFigure], move: PageMove) -> list[FaultFigure]:
    """Return the figures that match `move` except for page content, or the nearest figures."""
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
    """Return the exchange `plain`, corrected to the page content of `move`.

    Exchanges are measured with one page content only. Faults and evictions, the two halves of an
    exchange, are measured with several, so the correction is the sum of their differences.
    """
    if move.compression_work is None or plain.compression_work in (None, move.compression_work):
        return plain
    added = 0.0
    events: tuple[Literal["fault", "evict"], ...] = ("fault", "evict")
    for event in events:
        rows = [row for row in device.faults if row.event == event and not row.huge_pages]
        if not (rows := _nearest(rows, PageMove(event))):
            return plain
        wanted = replace(move, event=event)
        baseline = replace(wanted, compression_work=plain.compression_work)
        added += (
            _interpolated_by_content(rows, wanted).value_ns
            - _interpolated_by_content(rows, baseline).value_ns
        )
    times = {
        key: None if (time := getattr(plain, key)) is None else max(0.0, time + added)
        for key in ("value_ns", "low_ns", "high_ns")
    }
    return msgspec.structs.replace(plain, compression_work=move.compression_work, **times)


def _with_search_time(
    plain: FaultFigure, every: Sequence[FaultFigure], retouches: float
) -> FaultFigure:
    """Return `plain` plus the time of the kernel's search for a page to evict at `retouches`.

    The added time does not depend on page content. Beyond the measured curve it is constant.
    """
    with_retouches = sorted(
        (row for row in every if row.retouches), key=lambda row: row.retouches or 0.0
    )
    if not with_retouches or not retouches:
        return plain
    shape = (with_retouches[0].operation, with_retouches[0].pattern, with_retouches[0].threads)
    without_retouches = [
        row
        for row in every
        if not row.retouches and (row.operation, row.pattern, row.threads) == shape
    ]
    curve = [*(without_retouches or [plain])[:1], *with_retouches]
    positions = [math.log1p(row.retouches or 0.0) for row in curve]
    times: dict[str, float | None] = {}
    for key in ("value_ns", "low_ns", "high_ns"):
        ends = [row.value_ns if (end := getattr(row, key)) is None else end for row in curve]
        time_ns = getattr(plain, key)
        added = float(np.interp(math.log1p(retouches), positions, ends)) - curve[0].value_ns
        times[key] = None if time_ns is None else max(0.0, time_ns + added)
    return msgspec.structs.replace(plain, retouches=retouches, **times)


def _interpolated_by_content(rows: list[FaultFigure], move: PageMove) -> FaultFigure:
    """Return the figure at the page content of `move`, linear between measured contents."""
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
        name: _interpolated(getattr(low, name), getattr(high, name), part)
        for name in FaultFigure.__struct_fields__
        if name.endswith("_ns")
    }
    return msgspec.structs.replace(low, **{key: at}, **times)


def _interpolated(low: float | None, high: float | None, part: float) -> float | None:
    return None if low is None or high is None else low + part * (high - low)
