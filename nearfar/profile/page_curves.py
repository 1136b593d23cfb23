"""Page curves: from counted touches of whole pages to the faults of any near memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from nearfar.documents.workload import FIRST_TIME_EDGE, MemoryObject, PageCurve
from nearfar.profile.objects import Site
from nearfar.profile.run_file import PAGE_EDGES, PAGE_RATE, ProcessFile, Records

SHORT_TIMES = 1 + 2 * round(math.log2(FIRST_TIME_EDGE / (2 * PAGE_RATE)))
"""Number of the runtime's buckets that form the first bucket of a `PageCurve`."""

Key = tuple[int, int]
"""Number of a phase, and of an object."""


def page_curves(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int], objects: Sequence[MemoryObject]
) -> tuple[list[float], dict[Key, PageCurve]]:
    """Return the sizes of near memory and the curve of each key, summed over processes.

    The owner of one of a page's lines owns the page. When a new page of a heap is touched, the
    block on that line may not exist yet; such pages are divided among the phase's objects.
    """
    rows: dict[Key, list[Records]] = {}
    unknown: dict[int, list[Records]] = {}
    for process, file in enumerate(files):
        for row in file.pages:
            key = int(row["key"])
            number = object_of.get((process, key >> 32 & 0xFFFF))
            if number is not None:
                rows.setdefault((key >> 48, number), []).append(row)
            else:
                unknown.setdefault(key >> 48, []).append(row)
    used = max((int(np.max(np.nonzero(row["reuses"])[0], initial=0)) for file in files
                for row in file.pages), default=0)  # fmt: skip
    if not rows:
        return [], {}
    count = min(used + 1, len(PAGE_EDGES))
    sizes = [4096.0 * edge for edge in PAGE_EDGES[:count]]
    curves = {key: _curve(of_key, count) for key, of_key in rows.items()}
    for phase, of_phase in unknown.items():
        _divide_unowned(curves, phase, _curve(of_phase, count), objects)
    return sizes, curves


def _divide_unowned(
    curves: dict[Key, PageCurve],
    phase: int,
    curve: PageCurve,
    objects: Sequence[MemoryObject],
) -> None:
    """Divide `curve` among a phase's objects: first touches by bytes, the others by touches."""
    keys = [key for key in curves if key[0] == phase and objects[key[1]].kind != "file"]
    if not keys:
        return
    sizes = np.array([float(max(objects[number].size_bytes, 1)) for _, number in keys])
    touches = np.array([max(curves[key].faults[0], 1.0) for key in keys])
    by_bytes, by_touches = (sizes / sizes.sum()).tolist(), (touches / touches.sum()).tolist()
    shares = zip(keys, by_bytes, by_touches, strict=True)
    for key, byte_share, touch_share in shares:
        own = curves[key]
        curves[key] = replace(
            own,
            first=own.first + byte_share * curve.first,
            faults=_added(own.faults, curve.faults, touch_share),
            written=_added(own.written, curve.written, touch_share),
            times=_added(own.times, curve.times, touch_share),
        )


def _added(own: list[float], other: list[float], part: float) -> list[float]:
    pairs = zip_longest(own, other, fillvalue=0.0)
    return [own + part * other for own, other in pairs]


def _curve(rows: Sequence[Records], count: int) -> PageCurve:
    """Return the page curve of all `rows` together, for `count` sizes of near memory."""

    def summed(name: str) -> NDArray[np.float64]:
        return np.asarray(np.sum([row[name].astype(float) for row in rows], axis=0)) * PAGE_RATE

    def beyond(name: str) -> list[float]:
        """Return the sum over the buckets beyond each size."""
        counted = summed(name)
        sums: list[float] = (counted.sum() - np.cumsum(counted))[:count].tolist()
        return sums

    counted = summed("times")
    times = np.concatenate([[counted[:SHORT_TIMES].sum()], counted[SHORT_TIMES:]])
    looked_at = sum(int(row["looked_at"]) for row in rows)
    compressed = sum(int(row["compressed_bytes"]) for row in rows)
    work = sum(int(row["compression_work"]) for row in rows)
    faults, written = beyond("reuses"), beyond("written")
    return PageCurve(
        first=float(sum(int(row["first"]) for row in rows) * PAGE_RATE),
        faults=faults,
        written=np.clip(written, 0.0, faults).tolist(),
        times=times[: int(np.max(np.nonzero(times)[0], initial=-1)) + 1].tolist(),
        compressed_share=compressed / (4096 * looked_at) if looked_at else None,
        compression_work=work / looked_at if looked_at else None,
    )
