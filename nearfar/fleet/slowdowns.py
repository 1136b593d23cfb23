"""Every profile's slowdown by the share of its memory that is far, computed bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearfar.documents.fleet import FleetCurvePoint
from nearfar.fleet.costs import STEPS, LineCosts

Numbers = np.ndarray[Any, np.dtype[Any]]

SHARES = tuple(i / 16 for i in range(17))
"""Examined shares of far memory: DIMM slots come in eighths, and their halves."""


@dataclass(frozen=True)
class Slowdowns:
    """Slowdowns of all profiles."""

    types: Sequence[str]
    kind: Numbers
    """Each profile's type, as an index into `types`."""
    near_ns: Numbers
    whole: Numbers
    """Bytes of each profile."""
    added: Numbers
    """Added time over near time: a row for each of `SHARES`, a column for each profile."""
    factor: float = 1.0
    """Multiplier of `added`."""

    def curve(self, name: str) -> list[FleetCurvePoint]:
        """Return a type's slowdowns by share."""
        near_ns = self.near_ns[self._of(name)]
        points = []
        for share, values in zip(SHARES, self._by_share(name), strict=True):
            middle, high = np.quantile(values, (0.5, 0.95))
            points.append(
                FleetCurvePoint(
                    far_share=share,
                    slowdown_mean=float(values @ near_ns / near_ns.sum()),
                    slowdown_p50=float(middle),
                    slowdown_p95=float(high),
                )
            )
        return points

    def tolerating(self, name: str, limit: float) -> list[float]:
        """Return, for each share, the part of a type's memory whose programs keep the limit."""
        whole = self.whole[self._of(name)]
        return [
            float(whole[values <= limit + 1e-9].sum() / whole.sum())
            for values in self._by_share(name)
        ]

    def _of(self, name: str) -> Numbers:
        return np.flatnonzero(self.kind == self.types.index(name))

    def _by_share(self, name: str) -> Iterator[Numbers]:
        """Yield the slowdowns of a type's profiles for each of `SHARES`."""
        chosen = self._of(name)
        for values in self.added:
            yield 1.0 + self.factor * values[chosen]


@dataclass(frozen=True)
class AddedTimes:
    """The added times of one bucket's profiles and objects in far memory."""

    uris: list[str]
    kind: Numbers
    near_ns: Numbers
    whole: Numbers
    added_ns: Numbers
    """A row for each of `SHARES`, a column for each profile."""
    all_far_ns: Numbers
    objects: pa.Table
    """Sums by program and object."""


class BucketCosts:
    """Compute the added times of buckets."""

    def __init__(
        self,
        folder: Path,
        types: Mapping[tuple[str, str], str],
        costs: Mapping[str, LineCosts],
        dropped: frozenset[str],
    ) -> None:
        self._folder = folder
        self.types = sorted(costs)
        index = {name: at for at, name in enumerate(self.types)}
        self._kinds = {host: index[name] for host, name in types.items()}
        self._dropped = dropped
        ordered = [costs[name] for name in self.types]
        self._near = np.array([cost.near_ns for cost in ordered])
        self._chase = np.array([cost.chase_ns for cost in ordered])
        self._stream = np.array([cost.stream_ns for cost in ordered])
        self._write_back = np.array([cost.write_back_ns for cost in ordered])
        self._independent = np.array([cost.independent_ns for cost in ordered])

    def all(self, buckets: Sequence[str], threads: int, take: Callable[[AddedTimes], None]) -> None:
        """Give `take` the added times of each bucket, in order."""
        with ThreadPoolExecutor(threads) as pool:
            # A few at a time: results wait in memory until they are taken.
            for at in range(0, len(buckets), 4 * threads):
                for added in pool.map(self.of, buckets[at : at + 4 * threads]):
                    take(added)

    def of(self, bucket: str) -> AddedTimes:
        """Return the added times of a bucket."""
        columns = ["uri", "host", "cpu_model", "program", "near_ns", "bytes", "objects"]
        profiles = pq.read_table(self._folder / f"{bucket}-profiles.parquet", columns=columns)
        uris = profiles.column("uri").to_pylist()
        near_ns, whole = _numbers(profiles, "near_ns"), _numbers(profiles, "bytes")
        hosts = zip(
            profiles.column("host").to_pylist(),
            profiles.column("cpu_model").to_pylist(),
            strict=True,
        )
        kind = np.array([self._kinds.get(host, -1) for host in hosts])
        used = (kind >= 0) & (near_ns > 0) & (whole > 0)
        used &= [uri not in self._dropped for uri in uris]
        objects = pq.read_table(self._folder / f"{bucket}-objects.parquet")
        # The profile of each object; then both tables without what is not used.
        owner = np.repeat(np.arange(len(uris)), _numbers(profiles, "objects"))
        objects = objects.filter(pa.array(used[owner]))
        program = profiles.column("program").take(pa.array(owner[used[owner]]))
        owner = (np.cumsum(used) - 1)[owner[used[owner]]]
        near_ns, whole, kind = near_ns[used], whole[used], kind[used]
        added = self._added(objects, owner, kind, near_ns)
        size = _numbers(objects, "bytes")
        table = pa.table(
            {
                "program": program,
                "object": objects.column("object"),
                "bytes": size,
                "added": added,
            }
        )
        return AddedTimes(
            uris=[uri for uri, kept in zip(uris, used, strict=True) if kept],
            kind=kind,
            near_ns=near_ns,
            whole=whole,
            added_ns=_added_by_share(owner, size, added, whole),
            all_far_ns=np.bincount(owner, added, len(whole)),
            objects=table.group_by(["program", "object"], use_threads=False).aggregate(
                [("bytes", "count"), ("bytes", "sum"), ("added", "sum")]
            ),
        )

    def _added(self, objects: pa.Table, owner: Numbers, kind: Numbers, near_ns: Numbers) -> Numbers:
        """Return each object's added time in far memory, ns."""
        chase, independent = _numbers(objects, "chase"), _numbers(objects, "independent")
        count = len(near_ns)
        waited = np.bincount(owner, chase, count) * self._near[kind]
        parallel = np.bincount(owner, independent, count) * self._near[kind]
        # Parallelism is computed from the near time left for independent loads, at least 1 % of it.
        left = np.maximum(near_ns - waited, 0.01 * near_ns)
        step = np.floor(STEPS * np.log2(np.maximum(parallel / left, 1.0)) + 0.5).astype(np.int64)
        step = np.minimum(step, self._independent.shape[1] - 1)
        added: Numbers = chase * self._chase[kind][owner]
        added += independent * self._independent[kind, step][owner]
        added += _numbers(objects, "stream") * self._stream[kind][owner]
        added += _numbers(objects, "write_back") * self._write_back[kind][owner]
        return added


def _added_by_share(owner: Numbers, size: Numbers, added: Numbers, whole: Numbers) -> Numbers:
    """Return the added time of each profile for each of `SHARES`.

    Objects move to far memory by cost per byte, cheapest first; the last one moves in part.
    """
    order = np.lexsort((added / np.maximum(size, 1), owner))
    owner, size, added = owner[order], size[order], added[order]
    earlier = np.cumsum(size) - size
    first = np.searchsorted(owner, np.arange(len(whole)))
    before = earlier - earlier[first][owner] if len(owner) else earlier
    most = whole[owner]
    divisor = np.maximum(size, 1)
    return np.array(
        [
            np.bincount(
                owner, added * np.clip((share * most - before) / divisor, 0.0, 1.0), len(whole)
            )
            for share in SHARES
        ]
    )


def _numbers(table: pa.Table, name: str) -> Numbers:
    return np.asarray(table.column(name).to_numpy())
