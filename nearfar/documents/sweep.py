"""Sweep: the computed points of a sweep; its results are the Parquet dataset next to it."""

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
    """Text of the sweep file."""
    dataset: str
    """Folder of the Parquet files."""
    versions: dict[str, str]
    """Version of nearfar that computed each kind of point."""
    points: dict[str, int]
    """Number of points by kind."""
    finished_before: int
    finished_now: int
    failed: list[FailedPoint]
    not_tried: int = 0
    """Points whose profile failed, or that remained when the sweep was ended."""
    of_other_versions: int = 0
    """Finished points in the dataset that do not belong to this file and this version of
    nearfar."""
    seconds: float = 0.0
    """Computing time, without the start of the cluster."""
    overhead_ms_per_point: float | None = None
    """Time of a worker that is not spent in points."""
    workers: int = 0
    ended: str = "running"
    """done, interrupted, or the reason for the end; running: it is running, or was killed."""
    warnings: list[str] = []
