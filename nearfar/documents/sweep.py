"""Sweep: what a sweep ran; its results are the Parquet dataset next to it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nearfar.documents.header import Document


class FailedPoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A point that could not be computed."""

    point: str
    kind: str
    parameters: str
    """JSON object."""
    error: str


class Sweep(Document, kw_only=True, forbid_unknown_fields=True):
    """One run of `nearfar sweep`."""

    KIND: ClassVar[str] = "sweep"
    VERSION: ClassVar[int] = 1

    file: str
    text: str
    """The sweep file as it was."""
    dataset: str
    """Folder of the Parquet files."""
    versions: dict[str, str]
    """Kind of point to the nearfar that computed it."""
    points: dict[str, int]
    """Kind to how many there are."""
    finished_before: int
    finished_now: int
    failed: list[FailedPoint]
    not_tried: int = 0
    """Points whose profile failed, or that were left when the sweep was ended."""
    of_other_versions: int = 0
    """Finished points in the dataset that this file, with this nearfar, does not have."""
    seconds: float = 0.0
    """Computing time; the start of the cluster is left out."""
    overhead_ms_per_point: float | None = None
    """Time of a worker that is not spent in points."""
    workers: int = 0
    ended: str = "running"
    """done, interrupted, what ended it; running: it runs, or was killed."""
    warnings: list[str] = []
