"""Page curves: from counted touches of whole pages to the faults of any near memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.workload import PageCurve
from nearfar.profile.objects import Site
from nearfar.profile.run_file import PAGE_EDGES, PAGE_RATE, ProcessFile, Records

Key = tuple[int, int]
"""Number of a phase, and of an object."""


def page_curves(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int]
) -> tuple[list[float], dict[Key, PageCurve]]:
    """Return the sizes of near memory and the curve of each key, summed over processes."""
    rows: dict[Key, list[Records]] = {}
    for process, file in enumerate(files):
        for row in file.pages:
            key = int(row["key"])
            number = object_of.get((process, key >> 32 & 0xFFFF))
            if number is not None:
                rows.setdefault((key >> 48, number), []).append(row)
    used = max((int(np.max(np.nonzero(row["reuses"])[0], initial=0)) for file in files
                for row in file.pages), default=0)  # fmt: skip
    if not rows:
        return [], {}
    count = min(used + 1, len(PAGE_EDGES))
    sizes = [4096.0 * edge for edge in PAGE_EDGES[:count]]
    return sizes, {key: _curve(of_key, count) for key, of_key in rows.items()}


def _curve(rows: Sequence[Records], count: int) -> PageCurve:
    def summed(name: str) -> NDArray[np.float64]:
        return np.asarray(np.sum([row[name].astype(float) for row in rows], axis=0)) * PAGE_RATE

    def beyond(name: str) -> list[float]:
        """Return the sum over the buckets beyond each size."""
        counted = summed(name)
        sums: list[float] = (counted.sum() - np.cumsum(counted))[:count].tolist()
        return sums

    times = summed("times")
    looked_at = sum(int(row["looked_at"]) for row in rows)
    compressed = sum(int(row["compressed_bytes"]) for row in rows)
    faults, written = beyond("reuses"), beyond("written")
    return PageCurve(
        first=float(sum(int(row["first"]) for row in rows) * PAGE_RATE),
        faults=faults,
        written=np.clip(written, 0.0, faults).tolist(),
        times=times[: int(np.max(np.nonzero(times)[0], initial=-1)) + 1].tolist(),
        compressed_share=compressed / (4096 * looked_at) if looked_at else None,
    )
