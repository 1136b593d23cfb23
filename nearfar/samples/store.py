"""Every sample of a measurement, kept next to the output while it runs; at its end as Parquet.

The store is a file that only grows. A record is written whole by one system call, so what was
appended outlives Ctrl-C and a killed process; of a record that was cut (power, full disk) the
checksum tells, and it is dropped. What precedes it stays. One process at a time may append.

Layout: 8 bytes MAGIC, then records: length (u32, little endian), CRC-32 (u32) of what follows,
and that many bytes of MessagePack. The first record is the `StoreHeader`; any other is
[point, value, drawn GB/s, disturbed, single accesses as float32 or nil].
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import cannot_write
from nearfar.documents.header import producer
from nearfar.samples.point import Sample, SamplePoint

if TYPE_CHECKING:
    from nearfar.documents.header import Producer

__all__ = ["SampleRecord", "SampleStore", "StoreHeader", "header", "settings_hash", "store_path"]

MAGIC = b"nfsmpl1\n"
_HEAD = struct.Struct("<II")
MAX_RECORD_BYTES = 1 << 30
"""Largest record; a longer length is a torn head: 2^28 accesses would take some 30 s to time."""


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
    """Return where the samples of a measurement whose profile is `output` are kept meanwhile."""
    return output.with_name(output.name + ".samples")


class SampleStore:
    """An open store; a context manager. Made by `create`, `resume` or (to read only) `load`."""

    def __init__(self, path: Path, head: StoreHeader, handle: int, end: int, dropped: int) -> None:
        self.path = path
        self.header = head
        self.dropped_bytes = dropped
        """Bytes of a torn last record, removed when the store was opened."""
        self._handle = handle
        self._end = end

    @classmethod
    def create(cls, path: Path, head: StoreHeader) -> SampleStore:
        """Begin a store at `path`, instead of what is there; refuses one that is being written."""
        if path.exists() and not path.is_file():
            raise NearfarError(f"cannot keep samples in {path}: it is no plain file")
        handle = _open(path, os.O_RDWR | os.O_CREAT)
        try:
            os.ftruncate(handle, 0)
            _write_all(handle, path, 0, MAGIC + _framed(msgspec.msgpack.encode(head)))
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(handle)
            raise
        return cls(path, head, handle, os.fstat(handle).st_size, 0)

    @classmethod
    def resume(cls, path: Path, head: StoreHeader) -> SampleStore:
        """Go on with the store at `path`; it must be of this memory, machine and settings.

        Raises NearfarError that says what differs. A torn last record is cut off.
        """
        if not path.exists():
            raise NearfarError(
                f"there is nothing to resume: {path} does not exist; measure without --resume"
            )
        handle = _open(path, os.O_RDWR)
        try:
            there, end, size = _scan(path, handle)
            _refuse_other(path, there, head)
            if end < size:
                os.ftruncate(handle, end)
        except BaseException:
            os.close(handle)
            raise
        return cls(path, there, handle, end, size - end)

    @classmethod
    def load(cls, path: Path) -> SampleStore:
        """Open the store at `path` to read it, whoever made it, even while it is written."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NearfarError(f"cannot read samples {path}: {error.strerror}") from error
        try:
            head, end, size = _scan(path, handle)
        except BaseException:
            os.close(handle)
            raise
        return cls(path, head, handle, end, size - end)

    def append(self, point: SamplePoint, sample: Sample) -> None:
        """Add one sample, for good: it is with the kernel when this returns.

        Raises NearfarError where the disk is full; the store then ends before this sample.
        """
        self._end += _write_all(self._handle, self.path, self._end, _framed(_packed(point, sample)))

    def records(self) -> Iterator[SampleRecord]:
        """Yield all samples in the order they were taken; one at a time is in memory."""
        position = len(MAGIC)
        first = True
        while (record := _record(self._handle, position, self._end)) is not None:
            content, position = record
            if not first:
                yield _unpacked(content, self.path)
            first = False

    def samples(self) -> dict[SamplePoint, list[Sample]]:
        """Return all samples by point, points in the order they first came."""
        by_point: dict[SamplePoint, list[Sample]] = {}
        for record in self.records():
            by_point.setdefault(record.point, []).append(record.sample)
        return by_point

    def close(self) -> None:
        """Close the file; the samples stay. Closing twice does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def discard(self) -> None:
        """Close and remove the file, once its samples are kept elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> SampleStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _open(path: Path, flags: int) -> int:
    try:
        handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise NearfarError(
            f"{path} is being written by another nearfar measure: wait for it, or choose another "
            "output with -o"
        ) from error
    except OSError:
        pass  # a file system without locks: the user must not run two at once
    return handle


def _refuse_other(path: Path, there: StoreHeader, here: StoreHeader) -> None:
    remedy = "measure without --resume, or with another -o"
    for what, stored, other in (
        ("memory", there.spec, here.spec),
        ("machine", f"{there.host} ({there.cpu_model})", f"{here.host} ({here.cpu_model})"),
        ("nearfar version", there.nearfar_version, here.nearfar_version),
    ):
        if stored != other:
            raise NearfarError(
                f"cannot resume {path}: its samples are of another {what}, {stored}, and this is "
                f"{other}; {remedy}"
            )
    if there.settings_hash != here.settings_hash:
        names = sorted({*there.settings, *here.settings})
        differ = [
            f"{name} was {there.settings.get(name, 'not set')} and is "
            f"{here.settings.get(name, 'not set')}"
            for name in names
            if there.settings.get(name) != here.settings.get(name)
        ]
        raise NearfarError(
            f"cannot resume {path}: it was begun with other settings ({'; '.join(differ)}); "
            f"give the same, or {remedy}"
        )


def _packed(point: SamplePoint, sample: Sample) -> bytes:
    each = None
    if sample.each_ns is not None:
        each = sample.each_ns.astype("<f4", copy=False).tobytes()
    return msgspec.msgpack.encode(
        (point, float(sample.value), float(sample.drawn_gb_per_s), bool(sample.disturbed), each)
    )


def _unpacked(content: bytes, path: Path) -> SampleRecord:
    try:
        fields, value, drawn, disturbed, each = msgspec.msgpack.decode(content)
        point = msgspec.convert(fields, SamplePoint)
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
        raise NearfarError(f"cannot read samples {path}: {error}; measure again") from error
    times = None if each is None else np.frombuffer(each, dtype="<f4").astype(np.float32)
    return SampleRecord(point, Sample(value, drawn, times, disturbed))


def _framed(content: bytes) -> bytes:
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def _write_all(handle: int, path: Path, position: int, data: bytes) -> int:
    """Write `data` at `position`, whole or not at all; return its length."""
    done = 0
    try:
        while done < len(data):
            done += os.pwrite(handle, memoryview(data)[done:], position + done)
    except OSError as error:
        os.ftruncate(handle, position)
        refusal = cannot_write(path, error)
        raise NearfarError(
            f"{refusal}; the samples so far are kept: go on with --resume", ExitCode.MACHINE_LACKS
        ) from error
    except BaseException:  # Ctrl-C between two parts of a long record
        os.ftruncate(handle, position)
        raise
    return len(data)


def _scan(path: Path, handle: int) -> tuple[StoreHeader, int, int]:
    """Return header, end of the last whole record, and size of the file."""
    size = os.fstat(handle).st_size
    if os.pread(handle, len(MAGIC), 0) != MAGIC:
        raise NearfarError(
            f"{path} holds no samples of nearfar measure (or of another version of it): "
            "choose another output with -o, or remove it"
        )
    record = _record(handle, len(MAGIC), size)
    if record is None:
        raise NearfarError(f"{path} ends within its header: remove it and measure again")
    try:
        head = msgspec.msgpack.decode(record[0], type=StoreHeader)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise NearfarError(f"cannot read samples {path}: {error}; measure again") from error
    end = record[1]
    while (record := _record(handle, end, size)) is not None:
        end = record[1]
    return head, end, size


def _record(handle: int, position: int, size: int) -> tuple[bytes, int] | None:
    """Return the record at `position` and where the next begins; None at the end or if torn."""
    head = os.pread(handle, _HEAD.size, position)
    if len(head) < _HEAD.size:
        return None
    length, crc = _HEAD.unpack(head)
    begin = position + _HEAD.size
    if length > MAX_RECORD_BYTES or begin + length > size:
        return None
    content = os.pread(handle, length, begin)
    if len(content) < length or zlib.crc32(content) != crc:
        return None
    return content, begin + length
