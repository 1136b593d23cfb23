"""Traffic of an object whose elements are split into a hot and a cold part.

A line holds more hot parts than whole elements. So reads in sequence fetch fewer lines, and a cache
holds more elements: the object's own curves give the misses, the accesses that reach the last level
and the page walks that remain. A visit that touches the cold part fetches a line more, unless the
cache holds the element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.documents.workload import ObjectTraffic
from nearfar.place.hot_cold import HotCold, Part, Visits
from nearfar.place.object_curves import ObjectCurves, Remaining
from nearfar.place.type_use import Access

CURVE_STEP = 1.5
"""Largest ratio of neighbouring sizes of a miss curve, between which a sequence's step may lie."""

AccessKey = tuple[tuple[str, int], tuple[int, ...], str]
"""Visit, offsets of the fields, and access class with operation, which identify an access."""


class Waits(NamedTuple):
    """Number of waits of the object that is split, besides lines."""

    pages: float
    """Pages that sequences of misses start."""
    hits: float
    """Hits of the shared cache outside sequences."""
    walks: float
    """Page walks outside sequences."""
    at_random: float
    """Misses outside sequences."""


NO_WAITS = Waits(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PartTraffic:
    """Traffic of one part."""

    reads: dict[str, float]
    """Fetched lines by access class."""
    writes: dict[str, float]
    stores_share: float
    """Share of all stores."""
    accesses: float
    private: float
    """Accesses that miss the private caches."""
    waits: Waits

    @property
    def lines(self) -> float:
        """Lines fetched."""
        return sum(self.reads.values()) + sum(self.writes.values())


@dataclass(frozen=True)
class SplitTraffic:
    """Traffic of both parts in one phase, and the waits before the split."""

    hot: PartTraffic
    cold: PartTraffic
    before: Waits

    @property
    def after(self) -> Waits:
        """Waits for both parts."""
        return Waits(*(sum(both) for both in zip(self.hot.waits, self.cold.waits, strict=True)))


def split_traffic(
    split: HotCold,
    row: ObjectTraffic,
    accesses: Sequence[Access],
    curves: ObjectCurves,
    visits: Visits,
) -> SplitTraffic:
    """Return the traffic of the hot part and of the cold part in one phase.

    `accesses` are those that the profile lists for the object `row`.
    """
    whole = _Whole(split, row, accesses)
    cold_visits = _cold_visits(split, accesses, visits)
    cold_shares = _cold_shares(split, accesses, cold_visits)
    cold_of_visit: dict[tuple[str, int], list[Access]] = {}
    for access in accesses:
        if split.cold_fields(access):
            cold_of_visit.setdefault(access.visit, []).append(access)
    hot_part, cold_part = _PartSums(split, "hot", visits), _PartSums(split, "cold", visits)
    hot_lines = _mean_lines(split, accesses, "hot", visits)
    for access in accesses:
        touches_hot = bool(split.hot_fields(access))
        in_sequence = whole.in_sequence(access)
        if touches_hot:
            # Each element takes fewer lines than before, so the cache holds more elements.
            larger = whole.lines_each / max(hot_lines + cold_shares[access.visit], 1e-9)
            _add_hot(hot_part, whole, access, curves, larger)
        count, missing_share = cold_visits.get(_key(access), (0.0, 0.0))
        if count:
            together = [access] if visits == "many" else cold_of_visit[access.visit]
            elements = _cold_elements(split, access, count * missing_share, in_sequence)
            alone, dense = _cold_lines(split, together, visits)
            sequences, others = elements * in_sequence * dense, elements * (1 - in_sequence) * alone
            cold_part.add(access, sequences, others, dense)
            each = 1.0 if touches_hot else whole.reaching
            cold_part.reach(each * sequences, each * others, others)
            cold_part.walks += elements * (1 - in_sequence) if touches_hot else whole.walks(access)
    # The listed instructions have nearly all misses; the remainder counts for the cold part.
    unlisted = max(0.0, whole.misses - sum(access.misses for access in accesses))
    cold_part.reads["opaque"] = cold_part.reads.get("opaque", 0.0) + unlisted
    stores = hot_part.stores + cold_part.stores
    return SplitTraffic(hot_part.traffic(stores), cold_part.traffic(stores), whole.waits)


class _Whole:
    """Traffic of whole elements, divided among the accesses by their misses."""

    def __init__(self, split: HotCold, row: ObjectTraffic, accesses: Sequence[Access]) -> None:
        traffic = row.traffic
        self._split, self._accesses = split, accesses
        self.misses = traffic.misses()
        sequential = traffic.read_sequential.total() + traffic.write_sequential.total()
        self._sequential_share = min(1.0, sequential / self.misses) if self.misses else 0.0
        self.reaching = max(1.0, traffic.private_misses / self.misses) if self.misses else 1.0
        """Accesses that miss the private caches, per miss."""
        self.lines_each = _mean_lines(split, accesses, "whole", "value")
        self._all_walks = traffic.tlb_misses_4k

    def in_sequence(self, access: Access) -> float:
        """Return the share of an access's misses that is in sequence."""
        return 1.0 if access.access_class == "stream" else self._sequential_share

    def walks(self, access: Access) -> float:
        """Return the page walks of an access outside sequences."""
        if self._at_random == 0.0:
            return 0.0
        at_random = access.misses * (1.0 - self.in_sequence(access))
        return self.waits.walks * at_random / self._at_random

    @cached_property
    def waits(self) -> Waits:
        """Number of waits besides misses."""
        pages = sum(
            _pages(
                self._split,
                access.misses * self.in_sequence(access),
                self._split.lines(access, "whole", "value")[1],
                "whole",
                "value",
            )
            for access in self._accesses
        )
        hits = self._at_random * (self.reaching - 1.0)
        return Waits(pages, hits, max(0.0, self._all_walks - pages), self._at_random)

    @cached_property
    def _at_random(self) -> float:
        return sum(access.misses * (1.0 - self.in_sequence(access)) for access in self._accesses)


def _add_hot(
    part: _PartSums, whole: _Whole, access: Access, curves: ObjectCurves, larger: float
) -> None:
    """Add the lines of hot parts that an access fetches.

    The cache holds `larger` times as many hot parts as it held whole elements.
    """
    split, visits, in_sequence = part.split, part.visits, whole.in_sequence(access)
    all_fit = larger >= curves.size * whole.lines_each * LINE_BYTES / split.use.layout.stride_bytes
    left = (
        _left(curves.lines, larger, visits, all_fit),
        _left(curves.private, larger, visits, all_fit=False),
    )
    (sequences, others), private = (
        [access.misses * share for share in _hot_shares(split, access, visits, in_sequence, each)]
        for each in left
    )
    _, dense = split.lines(access, "hot", visits)
    part.add(access, sequences, others, dense)
    part.reach(whole.reaching * private[0], whole.reaching * private[1], others)
    strides = [split.layout(each, visits).stride_bytes for each in ("whole", "hot")]
    part.walks += whole.walks(access) * curves.walks.at(strides[0] / strides[1])


def _left(
    curve: Remaining, larger: float, visits: Visits, all_fit: bool
) -> tuple[float, float, float]:
    """Return the shares of misses left: at random, of sequences, and of first touches.

    The misses of a sequence end in one step, which lies anywhere between two sizes of the curve.
    If the cache holds the hot parts of the whole object (`all_fit`), it holds every sequence.
    """
    sequence = curve.from_below(larger)
    if visits == "few" or (visits == "value" and all_fit):
        sequence = curve.from_above(larger)
    elif visits == "many":
        sequence = curve.from_below(larger / CURVE_STEP)
    return curve.at(larger), sequence, curve.at(math.inf)


def _hot_shares(
    split: HotCold,
    access: Access,
    visits: Visits,
    in_sequence: float,
    left: tuple[float, float, float],
) -> tuple[float, float]:
    """Return the ratios of hot lines, in sequence and others, to all lines before the split.

    Neighbours share the lines of first touches in any order, as far as the cache keeps them.
    """
    before, before_dense = split.lines(access, "whole", visits)
    after, after_dense = split.lines(access, "hot", visits)
    denser = after_dense / before_dense
    others, sequence, first = left
    first = min(others, first)
    # Where more lines miss than before, the cache keeps none until the neighbour's turn.
    kept = max(0.0, 1.0 - others) / (1.0 - first) if first < 1.0 else 0.0
    touched_first = kept * first * denser
    alone = (others - kept * first) * after / before
    return in_sequence * sequence * denser, (1.0 - in_sequence) * (touched_first + alone)


def _pages(split: HotCold, lines: float, each: float, part: Part, visits: Visits) -> float:
    """Return the pages over which lines in sequence lie, `each` per element."""
    return lines / each * split.layout(part, visits).stride_bytes / PAGE_BYTES


def _cold_lines(split: HotCold, accesses: Sequence[Access], visits: Visits) -> tuple[float, float]:
    """Return the lines of a cold part that some accesses touch, alone and in sequence."""
    fields = [touched for access in accesses for touched in split.cold_fields(access)]
    alone, dense = split.lines_of_fields(fields, 0, "cold", visits)
    apart = [
        split.lines_of_fields(split.cold_fields(access), access.bytes, "cold", visits)
        for access in accesses
    ]
    return min(alone, sum(each for each, _ in apart)), min(dense, sum(each for _, each in apart))


def _cold_elements(split: HotCold, access: Access, elements: float, in_sequence: float) -> float:
    """Return the elements whose cold part an access fetches, at most those before the split."""
    if not split.hot_fields(access):
        return elements
    # The hot part now fetches the elements' lines, so its accesses determine the misses.
    alone, dense = split.lines(access, "whole", "value")
    return min(elements, access.misses / (dense if in_sequence else alone))


@dataclass
class _PartSums:
    """Sums of one part over its accesses."""

    split: HotCold
    part: Part
    visits: Visits
    reads: dict[str, float] = field(default_factory=dict)
    writes: dict[str, float] = field(default_factory=dict)
    stores: float = 0.0
    accesses: float = 0.0
    private: float = 0.0
    hits: float = 0.0
    walks: float = 0.0
    pages: float = 0.0
    at_random: float = 0.0

    def add(self, access: Access, sequences: float, others: float, dense: float) -> None:
        """Add the lines that an access fetches; those in sequence are `dense` per element."""
        # A read-modify-write waits like a load.
        into = self.writes if access.operation == "store" else self.reads
        lines = sequences + others
        into[access.access_class] = into.get(access.access_class, 0.0) + lines
        self.pages += _pages(self.split, sequences, dense, self.part, self.visits)
        self.at_random += others
        self.accesses += access.accesses
        if access.operation != "load":
            self.stores += access.accesses

    def reach(self, sequences: float, others: float, missing: float) -> None:
        """Add accesses that miss the private caches; `missing` of the others miss all."""
        self.private += sequences + others
        self.hits += max(0.0, others - missing)

    def traffic(self, stores: float) -> PartTraffic:
        """Return the sums; `stores` are those of both parts."""
        share = self.stores / stores if stores else 0.0
        waits = Waits(self.pages, self.hits, self.walks, self.at_random)
        return PartTraffic(self.reads, self.writes, share, self.accesses, self.private, waits)


def _key(access: Access) -> AccessKey:
    offsets = tuple(touched.offset for touched in access.fields)
    return access.visit, offsets, f"{access.access_class} {access.operation}"


def _cold_visits(
    split: HotCold, accesses: Sequence[Access], visits: Visits
) -> dict[AccessKey, tuple[float, float]]:
    """Return, by access, its visits of the cold part, and the share of these visits that misses.

    Of a visit's accesses to the cold part, only the one with most elements counts; with `many`, all
    count. A visit that has few misses may follow a visit of another function, which fetched the
    line. Its cold part then misses as often as that of the visit with most misses.
    """
    missing = _missing_shares(split, accesses)
    most = max(missing.values(), default=0.0)
    counted: dict[AccessKey, tuple[float, float]] = {}
    visits_with_cold: set[tuple[str, int]] = set()
    for access in sorted(accesses, key=lambda access: -_most_elements(split, access)):
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
            count / split.lines(access, "whole", visits)[0],
            share if visits == "few" else max(share, most),
        )
    return counted


def _most_elements(split: HotCold, access: Access) -> float:
    """Return the elements that an access visits; of accesses to whole elements, those that miss.

    An instruction that copies elements also counts the copied one, again and again.
    """
    return min(access.accesses, access.misses) if split.hot_fields(access) else access.accesses


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
        alone, dense = split.lines(access, "whole", "value")
        lines = dense if access.access_class == "stream" else alone
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


def _mean_lines(split: HotCold, accesses: Sequence[Access], part: Part, visits: Visits) -> float:
    """Return the mean number of lines per element that accesses occupy, weighted by misses."""
    total = weight = 0.0
    for access in accesses:
        if part == "whole" or split.hot_fields(access):
            _, dense = split.lines(access, part, visits)
            total += access.misses * dense
            weight += access.misses
    return total / weight if weight else 1.0
