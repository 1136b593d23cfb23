"""Traffic of an object whose elements are split into a hot and a cold part.

A line holds more hot parts than whole elements. So reads in sequence fetch fewer lines, and a cache
holds more elements: the object's own miss curve gives the misses that remain of all accesses, in
sequence or not. A visit that touches
the cold part fetches a line more, unless the cache holds the element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import ObjectTraffic
from nearfar.place.type_use import Access, TypeUse, block_bytes, extent, lines_of

POINTER_BYTES = 8
CURVE_STEP = 1.5
"""Largest ratio of neighbouring sizes of a miss curve: a sequence's step is known up to that."""

AccessKey = tuple[tuple[str, int], tuple[int, ...], str]
"""Visit, offsets of the fields, and access class with operation, which identify an access."""

Visits = Literal["value", "few", "many"]
"""Assumption about visits of the cold part, as counts do not show which accesses share a visit.

value: likely; a field that is not always touched counts in half of the visits
few: only fields that every visit touches count; a sequence fits into the cache if its curve allows
many: every access to the cold part is a visit of its own
"""


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
            # The cold part is a separate block, so the hot part needs a pointer to it.
            return block_bytes(hot + POINTER_BYTES), block_bytes(cold)
        return hot, -(-cold // POINTER_BYTES) * POINTER_BYTES

    def hot_fields(self, access: Access) -> list[TouchedField]:
        """Return the hot fields that an access touches."""
        return [touched for touched in access.fields if self._overlaps(touched)]

    def cold_fields(self, access: Access) -> list[TouchedField]:
        """Return the fields that an access touches outside the hot part."""
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
    curve: RemainingMisses,
    visits: Visits,
) -> tuple[PartTraffic, PartTraffic]:
    """Return the traffic of the hot part and of the cold part in one phase.

    `accesses` are those that the profile lists for the object `row`.
    """
    misses = row.traffic.misses()
    sequential = row.traffic.read_sequential.total() + row.traffic.write_sequential.total()
    sequential_share = min(1.0, sequential / misses) if misses else 0.0
    cold_visits = _cold_visits(split, accesses, visits)
    cold_shares = _cold_shares(split, accesses, cold_visits)
    whole_lines = _lines_in_sequence(split.use.stride_bytes, _mean_lines(split, accesses, "all"))
    hot_lines = _lines_in_sequence(split.strides[0], _mean_lines(split, accesses, "hot"))
    cold_fields: dict[tuple[str, int], list[TouchedField]] = {}
    for access in accesses:
        cold_fields.setdefault(access.visit, []).extend(split.cold_fields(access))
    hot_part, cold_part = _PartSums(), _PartSums()
    for access in accesses:
        in_sequence = 1.0 if access.access_class == "stream" else sequential_share
        if split.hot_fields(access):
            # Each element takes fewer lines than before, so the cache holds more elements.
            larger = whole_lines / max(hot_lines + cold_shares[access.visit], 1e-9)
            sure = larger if visits == "few" else larger / CURVE_STEP
            remaining = curve.at(larger), curve.at_most(sure)
            share = _hot_lines_share(split, access, in_sequence, remaining, curve.at(math.inf))
            hot_part.add(access, access.misses * share)
        count, missing_share = cold_visits.get(_key(access), (0.0, 0.0))
        if count:
            fields = cold_fields[access.visit] if visits != "many" else split.cold_fields(access)
            elements = _cold_elements(split, access, count * missing_share, in_sequence)
            cold_part.add(access, elements * _cold_lines_each(split, fields, in_sequence))
    # The listed instructions have nearly all misses; the remainder counts for the cold part.
    unlisted = max(0.0, misses - sum(access.misses for access in accesses))
    cold_part.reads["opaque"] = cold_part.reads.get("opaque", 0.0) + unlisted
    stores = hot_part.stores + cold_part.stores
    return hot_part.traffic(stores), cold_part.traffic(stores)


def _hot_lines_share(
    split: HotCold,
    access: Access,
    in_sequence: float,
    remaining: tuple[float, float],
    first: float,
) -> float:
    """Return the ratio of lines that an access fetches of hot parts to those before the split.

    `in_sequence` is the share of the access's misses in sequence, `remaining` the shares of other
    misses and of those in sequence that remain because the cache holds more elements. `first` is
    the share of first touches: neighbours share their lines in any order, as far as the cache keeps
    them.
    """
    before = lines_of(extent(access.fields))
    after = lines_of(min(extent(split.hot_fields(access)), split.hot_bytes))
    denser = _lines_in_sequence(split.strides[0], after) / _lines_in_sequence(
        split.use.stride_bytes, before
    )
    others, sequence = remaining
    first = min(others, first)
    kept = (1.0 - others) / (1.0 - first) if first < 1.0 else 0.0
    shared = in_sequence * sequence + (1.0 - in_sequence) * kept * first
    alone = (1.0 - in_sequence) * (others - kept * first)
    return shared * denser + alone * after / before


def _cold_elements(split: HotCold, access: Access, elements: float, in_sequence: float) -> float:
    """Return the elements whose cold part an access fetches, at most those before the split."""
    if not split.hot_fields(access):
        return elements
    # The hot part now fetches the elements' lines, so its accesses determine the misses.
    lines = lines_of(extent(access.fields))
    each = _lines_in_sequence(split.use.stride_bytes, lines) if in_sequence else lines
    return min(elements, access.misses / each)


def _cold_lines_each(split: HotCold, fields: Sequence[TouchedField], in_sequence: float) -> float:
    """Return the lines that each fetched cold part takes."""
    stride = split.strides[1]
    lines = lines_of(min(extent(fields), stride))
    return in_sequence * _lines_in_sequence(stride, lines) + (1.0 - in_sequence) * lines


class RemainingMisses:
    """Ratio of an object's misses in a cache that is some times as large to those in this one."""

    def __init__(
        self, row: ObjectTraffic, curve_bytes: Sequence[float], cache_bytes: float
    ) -> None:
        """Without a curve of the object, all its misses remain in any cache."""
        self._factors, self._ratios = np.ones(1), np.ones(1)
        if row.curve is None or not curve_bytes:
            return
        factors = np.asarray(curve_bytes, dtype=float) / cache_bytes
        misses = np.asarray(row.curve.read) + np.asarray(row.curve.write)
        here = float(np.interp(0.0, np.log2(factors), misses))
        if here > 0.0:
            self._factors, self._ratios = factors, misses / here

    def at(self, factor: float) -> float:
        """Return the ratio with `factor` times the cache."""
        return float(np.interp(np.log2(factor), np.log2(self._factors), self._ratios))

    def at_most(self, factor: float) -> float:
        """Return the ratio at the largest size of the curve that is not above this one."""
        at = max(int(np.searchsorted(self._factors, factor, "right")) - 1, 0)
        return min(1.0, float(self._ratios[at]))


class _PartSums:
    """Sums of one part over its accesses."""

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


def _key(access: Access) -> AccessKey:
    offsets = tuple(touched.offset for touched in access.fields)
    return access.visit, offsets, f"{access.access_class} {access.operation}"


def _cold_visits(
    split: HotCold, accesses: Sequence[Access], visits: Visits
) -> dict[AccessKey, tuple[float, float]]:
    """Return, by access, its visits of the cold part, and the share of these visits that misses.

    Only the most frequent of a visit's accesses to the cold part counts; with `many`, all count. A
    visit that has few misses may follow a visit of another function, which fetched the line. Its
    cold part then misses as often as that of the visit with most misses.
    """
    missing = _missing_shares(split, accesses)
    most = max(missing.values(), default=0.0)
    counted: dict[AccessKey, tuple[float, float]] = {}
    visits_with_cold: set[tuple[str, int]] = set()
    for access in sorted(accesses, key=lambda access: -access.accesses):
        cold = split.cold_fields(access)
        if not cold:
            continue
        touched_share = 1.0 if any(touched.always for touched in cold) else 0.5
        if visits == "few" and touched_share < 1.0:
            continue
        if access.visit in visits_with_cold and visits != "many":
            continue
        visits_with_cold.add(access.visit)
        count = access.accesses * (1.0 if visits == "many" else touched_share)
        share = missing[access.visit]
        counted[_key(access)] = (
            count / lines_of(access.bytes),
            share if visits == "few" else max(share, most),
        )
    return counted


def _cold_shares(
    split: HotCold, accesses: Sequence[Access], cold_visits: dict[AccessKey, tuple[float, float]]
) -> dict[tuple[str, int], float]:
    """Return, by visit, the share of its elements whose cold part it touches too, at most 1.

    Visits of cold parts alone are assumed to belong to visits of other functions.
    """
    with_hot = {access.visit for access in accesses if split.hot_fields(access)}
    visited = _visited(accesses)
    own = dict.fromkeys(visited, 0.0)
    for (visit, _, _), (count, _) in cold_visits.items():
        own[visit] += count
    others = sum(count for visit, count in own.items() if visit not in with_hot)
    return {
        visit: min(1.0, (own[visit] or others) / count) if count else 0.0
        for visit, count in visited.items()
    }


def _missing_shares(split: HotCold, accesses: Sequence[Access]) -> dict[tuple[str, int], float]:
    """Return, by visit, the share of visited elements that are not in the cache."""
    fetched: dict[tuple[str, int], float] = {}
    for access in accesses:
        lines = lines_of(extent(access.fields))
        if access.access_class == "stream":
            lines = _lines_in_sequence(split.use.stride_bytes, lines)
        fetched[access.visit] = fetched.get(access.visit, 0.0) + access.misses / lines
    visited = _visited(accesses)
    return {
        visit: min(1.0, elements / visited[visit]) if visited[visit] else 0.0
        for visit, elements in fetched.items()
    }


def _visited(accesses: Sequence[Access]) -> dict[tuple[str, int], float]:
    """Return how often each visit happens: as often as its most frequent access."""
    visited: dict[tuple[str, int], float] = {}
    for access in accesses:
        visited[access.visit] = max(visited.get(access.visit, 0.0), access.accesses)
    return visited


def _mean_lines(split: HotCold, accesses: Sequence[Access], part: Literal["all", "hot"]) -> float:
    """Return the mean number of lines of an element that an access touches, weighted by misses."""
    total = weight = 0.0
    for access in accesses:
        fields = access.fields if part == "all" else split.hot_fields(access)
        if fields:
            total += access.misses * lines_of(extent(fields))
            weight += access.misses
    return total / weight if weight else 1.0


def _lines_in_sequence(stride_bytes: int, lines: float) -> float:
    """Return the lines per element of an access in sequence: neighbours share lines."""
    return min(stride_bytes / LINE_BYTES, lines)
