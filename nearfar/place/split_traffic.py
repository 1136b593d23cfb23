"""Traffic of an object whose elements are split into a hot and a cold part.

Density: a line of hot parts holds more elements, so what is read in sequence takes fewer lines, and
a cache holds more elements, whose misses the object's own miss curve tells. A visit that touches
the cold part fetches a line more, as often as the element was not in the cache before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import ObjectTraffic
from nearfar.place.type_use import Access, TypeUse, block_bytes, extent, lines_of

POINTER_BYTES = 8

Place = tuple[tuple[str, int], tuple[int, ...], str]
"""Visit, offsets of the fields, access class and operation."""

Visits = Literal["value", "few", "many"]
"""How often visits touch the cold part; counts do not show which accesses belong to one visit."""


@dataclass(frozen=True)
class HotCold:
    """A type's fields in two parts."""

    use: TypeUse
    hot: tuple[TouchedField, ...]

    @property
    def hot_bytes(self) -> int:
        """Bytes of the hot fields."""
        return sum(touched.bytes for touched in self.hot)

    @property
    def strides(self) -> tuple[int, int]:
        """Bytes from one hot part to the next, and from one cold part to the next."""
        hot = -(-self.hot_bytes // POINTER_BYTES) * POINTER_BYTES
        cold = max(0, self.use.type_bytes - self.hot_bytes)
        if self.use.alone:
            # A block of its own is reached by a pointer in the hot part.
            return block_bytes(hot + POINTER_BYTES), block_bytes(cold)
        return hot, -(-cold // POINTER_BYTES) * POINTER_BYTES

    def of_hot(self, access: Access) -> list[TouchedField]:
        """Return the hot fields that an access touches."""
        return [touched for touched in access.fields if self._overlaps(touched)]

    def of_cold(self, access: Access) -> list[TouchedField]:
        """Return the fields that an access touches outside of the hot part."""
        keys = {(touched.offset, touched.bytes) for touched in self.hot}
        return [touched for touched in access.fields if (touched.offset, touched.bytes) not in keys]

    def _overlaps(self, touched: TouchedField) -> bool:
        return any(
            touched.offset < hot.offset + hot.bytes and hot.offset < touched.offset + touched.bytes
            for hot in self.hot
        )


@dataclass(frozen=True)
class PartTraffic:
    """Fetched lines of one part, by access class, and its share of all stores."""

    reads: dict[str, float]
    writes: dict[str, float]
    stores_share: float
    accesses: float

    @property
    def lines(self) -> float:
        """Lines fetched."""
        return sum(self.reads.values()) + sum(self.writes.values())


def split_traffic(
    split: HotCold,
    row: ObjectTraffic,
    accesses: Sequence[Access],
    curve: Callable[[float], float],
    visits: Visits,
) -> tuple[PartTraffic, PartTraffic]:
    """Return the traffic of the hot and of the cold part in one phase.

    `curve` gives the object's misses in a cache that is this many times as large, relative to those
    in the present one.
    """
    hot_stride, cold_stride = split.strides
    listed = sum(access.misses for access in accesses)
    sequential = row.traffic.read_sequential.total() + row.traffic.write_sequential.total()
    followed = min(1.0, sequential / row.traffic.misses()) if row.traffic.misses() else 0.0
    # The listed instructions have nearly all misses; those of the others count for the cold part.
    rest = max(0.0, row.traffic.misses() - listed)
    cold_lines = _cold_lines(split, accesses, visits)
    before = _resident(split.use.stride_bytes, _mean_lines(split, accesses, "all"))
    hot_resident = _resident(hot_stride, _mean_lines(split, accesses, "hot"))
    cold_fields: dict[tuple[str, int], list[TouchedField]] = {}
    for access in accesses:
        cold_fields.setdefault(access.visit, []).extend(split.of_cold(access))
    cold_shares = _cold_shares(split, accesses, cold_lines)
    hot_part, cold_part = _Part(), _Part()
    for access in accesses:
        hot = split.of_hot(access)
        larger = curve(before / max(hot_resident + cold_shares[access.visit], 1e-9))
        stream = 1.0 if access.access_class == "stream" else followed
        if hot:
            lines_before = lines_of(extent(access.fields))
            lines_after = lines_of(min(extent(hot), split.hot_bytes))
            dense = _resident(hot_stride, lines_after) / _resident(
                split.use.stride_bytes, lines_before
            )
            factor = stream * dense + (1.0 - stream) * larger * lines_after / lines_before
            hot_part.add(access, access.misses * factor)
        count, missing = cold_lines.get(_place(access), (0.0, 0.0))
        if count:
            cold = split.of_cold(access) if visits == "many" else cold_fields[access.visit]
            lines = lines_of(min(extent(cold), cold_stride))
            dense = _resident(cold_stride, lines)
            elements = count * missing
            if hot:
                # This part now fetches the elements' lines, so its accesses determine the misses.
                each = lines_of(extent(access.fields))
                each = _resident(split.use.stride_bytes, each) if stream else each
                elements = min(elements, access.misses / each)
            cold_part.add(access, elements * (stream * dense + (1.0 - stream) * lines))
    cold_part.reads["opaque"] = cold_part.reads.get("opaque", 0.0) + rest
    stores = hot_part.stores + cold_part.stores
    return hot_part.traffic(stores), cold_part.traffic(stores)


def scaled_curve(
    row: ObjectTraffic, curve_bytes: Sequence[float], cache_bytes: float
) -> Callable[[float], float]:
    """Return the object's misses in a cache so many times as large over those in this one."""
    if row.curve is None or not curve_bytes:
        return lambda factor: 1.0
    sizes = np.log2(np.asarray(curve_bytes, dtype=float))
    misses = np.asarray(row.curve.read) + np.asarray(row.curve.write)
    here = float(np.interp(np.log2(cache_bytes), sizes, misses))
    if here <= 0.0:
        return lambda factor: 1.0
    return lambda factor: float(np.interp(np.log2(cache_bytes * factor), sizes, misses)) / here


class _Part:
    """Sums of one part."""

    def __init__(self) -> None:
        self.reads: dict[str, float] = {}
        self.writes: dict[str, float] = {}
        self.stores = 0.0
        self.accesses = 0.0

    def add(self, access: Access, lines: float) -> None:
        """Add the lines that an access fetches."""
        # A read-modify-write waits like a load.
        into = self.writes if access.operation == "store" else self.reads
        into[access.access_class] = into.get(access.access_class, 0.0) + lines
        self.accesses += access.accesses
        if access.operation != "load":
            self.stores += access.accesses

    def traffic(self, stores: float) -> PartTraffic:
        """Return the sums; `stores` are those of both parts."""
        share = self.stores / stores if stores else 0.0
        return PartTraffic(self.reads, self.writes, share, self.accesses)


def _place(access: Access) -> Place:
    offsets = tuple(touched.offset for touched in access.fields)
    return access.visit, offsets, f"{access.access_class} {access.operation}"


def _cold_lines(
    split: HotCold, accesses: Sequence[Access], visits: Visits
) -> dict[Place, tuple[float, float]]:
    """Return, by access, the visits that reach the cold part, and the share that misses there.

    Of one visit's accesses to the cold part the most frequent one counts, or each. An access
    without misses of its own follows one of another function, which missed.
    """
    missing = _missing_shares(split, accesses)
    most = max(missing.values(), default=0.0)
    reached: dict[Place, tuple[float, float]] = {}
    greatest: dict[tuple[str, int], float] = {}
    for access in sorted(accesses, key=lambda access: -access.accesses):
        cold = split.of_cold(access)
        if not cold:
            continue
        weight = 1.0 if any(touched.always for touched in cold) else 0.5
        if visits == "few" and weight < 1.0:
            continue
        count = access.accesses * (1.0 if visits == "many" else weight) / lines_of(access.bytes)
        if access.visit in greatest and visits != "many":
            continue
        greatest[access.visit] = count
        share = missing[access.visit]
        reached[_place(access)] = (count, share if visits == "few" else max(share, most))
    return reached


def _cold_shares(
    split: HotCold, accesses: Sequence[Access], cold_lines: dict[Place, tuple[float, float]]
) -> dict[tuple[str, int], float]:
    """Return, by visit, the share of its elements whose cold part is touched too, at most 1.

    Accesses to cold parts without hot accesses belong to visits of other functions.
    """
    with_hot = {access.visit for access in accesses if split.of_hot(access)}
    visited: dict[tuple[str, int], float] = {}
    for access in accesses:
        visited[access.visit] = max(visited.get(access.visit, 0.0), access.accesses)
    own = dict.fromkeys(visited, 0.0)
    for (visit, _, _), (count, _) in cold_lines.items():
        own[visit] += count
    others = sum(count for visit, count in own.items() if visit not in with_hot)
    return {
        visit: min(1.0, (own[visit] or others) / count) if count else 0.0
        for visit, count in visited.items()
    }


def _missing_shares(split: HotCold, accesses: Sequence[Access]) -> dict[tuple[str, int], float]:
    """Return, by visit, the share of them whose element is not in the cache."""
    misses: dict[tuple[str, int], float] = {}
    visited: dict[tuple[str, int], float] = {}
    for access in accesses:
        resident = _resident(split.use.stride_bytes, lines_of(extent(access.fields)))
        lines = resident if access.access_class == "stream" else lines_of(extent(access.fields))
        misses[access.visit] = misses.get(access.visit, 0.0) + access.misses / lines
        visited[access.visit] = max(visited.get(access.visit, 0.0), access.accesses)
    return {
        name: min(1.0, misses[name] / visited[name]) if visited[name] else 0.0 for name in misses
    }


def _mean_lines(split: HotCold, accesses: Sequence[Access], part: Literal["all", "hot"]) -> float:
    """Return the lines that a visit touches, weighted by misses."""
    total = weight = 0.0
    for access in accesses:
        fields = access.fields if part == "all" else split.of_hot(access)
        if fields:
            total += access.misses * lines_of(extent(fields))
            weight += access.misses
    return total / weight if weight else 1.0


def _resident(stride_bytes: int, lines: float) -> float:
    """Return the lines that an element takes where neighbours are used too, at most `lines`."""
    return min(stride_bytes / LINE_BYTES, lines)
