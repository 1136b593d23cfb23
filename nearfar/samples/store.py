"""Every sample of a measurement, kept next to the output while it runs; at its end as Parquet.

The store is a journal whose head tells memory, machine and settings. A record is an array: point,
value, drawn GB/s, disturbed, single accesses as float32 (base64) or null.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from nearfar.base.journal import Journal
from nearfar.documents.header import Producer, producer
from nearfar.samples.point import Sample, SamplePoint


class StoreHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Memory, machine and settings of a store's samples; only equal ones may be added."""

    spec: str
    """The memory as typed: ``dram,pages=4k``."""
    host: str
    cpu_model: str
    kernel: str
    nearfar_version: str
    time_utc: str
    """Time of the store's creation, ISO 8601."""
    settings: dict[str, str]
    """Settings that decide the points and how they are measured."""
    settings_hash: str


@dataclass(frozen=True)
class SampleRecord:
    """One sample and its point."""

    point: SamplePoint
    sample: Sample


def settings_hash(settings: Mapping[str, str]) -> str:
    """Return 16 hexadecimal digits that are the same for the same settings in any order."""
    text = msgspec.json.encode(sorted(settings.items()))
    return hashlib.sha256(text).hexdigest()[:16]


def header(spec: str, settings: Mapping[str, str], made_by: Producer | None = None) -> StoreHeader:
    """Describe a measurement of `spec` by this process on this machine, now."""
    made_by = made_by or producer()
    return StoreHeader(
        spec=spec,
        host=made_by.host,
        cpu_model=made_by.cpu_model,
        kernel=made_by.kernel,
        nearfar_version=made_by.nearfar_version,
        time_utc=made_by.time_utc,
        settings=dict(settings),
        settings_hash=settings_hash(settings),
    )


def store_path(output: Path) -> Path:
    """Return the path of the samples while the measurement that writes `output` runs."""
    return output.with_name(output.name + ".samples")


class _Line(msgspec.Struct, array_like=True):
    """One record of the journal: a point and its sample."""

    point: SamplePoint
    value: float
    drawn_gb_per_s: float
    disturbed: bool
    each_f32: bytes | None


class SampleStore:
    """An open store; a context manager. Made by `create`, `resume` or (to read only) `load`."""

    def __init__(self, journal: Journal[_Line]) -> None:
        self._journal = journal
        self.path = journal.path
        self.header = msgspec.json.decode(journal.head.about, type=StoreHeader)
        self.dropped_bytes = journal.dropped_bytes
        """Bytes of a torn last record, removed when the store was opened."""
        self.close = journal.close
        self.discard = journal.discard

    @classmethod
    def create(cls, path: Path, head: StoreHeader) -> SampleStore:
        """Begin an empty store at `path`; raise NearfarError if another process writes to it."""
        return cls(Journal.begin(path, _Line, _request(head), head))

    @classmethod
    def resume(cls, path: Path, head: StoreHeader) -> SampleStore:
        """Continue the store at `path`; NearfarError if memory, machine or settings differ."""
        return cls(Journal.resume(path, _Line, _request(head)))

    @classmethod
    def load(cls, path: Path) -> SampleStore:
        """Open the store at `path` for reading, of any measurement, even while it is written."""
        return cls(Journal.load(path, _Line))

    def append(self, point: SamplePoint, sample: Sample) -> None:
        """Add one sample; it survives this process. Raises NearfarError where the disk is full."""
        each = None
        if sample.each_ns is not None:
            each = sample.each_ns.astype("<f4", copy=False).tobytes()
        self._journal.append(
            _Line(point, float(sample.value), sample.drawn_gb_per_s, bool(sample.disturbed), each)
        )

    def records(self) -> Iterator[SampleRecord]:
        """Yield all samples in the order they were taken; one at a time is in memory."""
        for line in self._journal.records():
            each = None
            if line.each_f32 is not None:
                each = np.frombuffer(line.each_f32, dtype="<f4").astype(np.float32)
            sample = Sample(line.value, line.drawn_gb_per_s, each, line.disturbed)
            yield SampleRecord(line.point, sample)

    def __enter__(self) -> SampleStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _request(head: StoreHeader) -> dict[str, str]:
    return {
        "memory": head.spec,
        "machine": f"{head.host} ({head.cpu_model})",
        "nearfar version": head.nearfar_version,
        **head.settings,
    }
