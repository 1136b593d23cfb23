"""A file of finished work: an appended record survives the end or crash of the process.

A line is the CRC-32 of a record, in hexadecimal, and the record as JSON. The first line may be the
request that the work is for. Reading stops before the first line that is incomplete or has a wrong
CRC, and the next append overwrites that line. A journal open for writing is locked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import cannot_write

Record = TypeVar("Record")

_CRC_DIGITS = 8


class JournalInUseError(NearfarError):
    """Another process has the journal open for writing."""


class JournalHead(msgspec.Struct, frozen=True):
    """First line of a journal that can be resumed."""

    request: dict[str, str]
    """Names and values that must be the same when the work goes on."""
    about: msgspec.Raw = msgspec.Raw(b"null")
    """A further document that the journal's owner keeps with the request, as JSON."""


class Journal(Generic[Record]):
    """An open journal of records of one type; a context manager.

    `begin`, `resume` and `load` open a journal whose first line is a request, `open` one without.
    """

    head: JournalHead

    def __init__(self, path: Path, record: type[Record], handle: int) -> None:
        self.path = path
        self.dropped_bytes = 0
        """Bytes of a torn last record, found when the journal was opened."""
        self._record = record
        self._handle = handle
        self._first = self._end = 0  # positions of the first record and after the last

    @classmethod
    def open(cls, path: Path, record: type[Record], *, wait: bool = False) -> Journal[Record]:
        """Lock the journal at `path`, creating it if needed, and cut off an incomplete last record.

        Raises JournalInUseError if another process has the lock and `wait` is false.
        """
        with cls(path, record, _locked(path, os.O_CREAT, wait=wait))._closed_on_error() as journal:
            journal._scan()
            if journal._end == 0 and b"\n" in os.pread(journal._handle, 1 << 16, 0):
                raise _not_ours(path)
            os.ftruncate(journal._handle, journal._end)
            return journal

    @classmethod
    def begin(
        cls, path: Path, record: type[Record], request: Mapping[str, str], about: Any = None
    ) -> Journal[Record]:
        """Start an empty journal of `request` at `path`; an existing file is replaced."""
        if path.exists() and not path.is_file():
            raise NearfarError(
                f"cannot keep finished work in {path}: it is no plain file; choose another output "
                "with -o"
            )
        with cls(path, record, _locked(path, os.O_CREAT))._closed_on_error() as journal:
            os.ftruncate(journal._handle, 0)
            journal.head = JournalHead(dict(request), msgspec.Raw(msgspec.json.encode(about)))
            try:
                journal.append(journal.head)
            except BaseException:
                journal.discard()
                raise
            journal._first = journal._end
            return journal

    @classmethod
    def resume(
        cls, path: Path, record: type[Record], request: Mapping[str, str]
    ) -> Journal[Record]:
        """Continue the journal at `path`; NearfarError says how its request differs."""
        if not path.exists():
            raise NearfarError(
                f"there is nothing to resume: {path} does not exist; leave out --resume"
            )
        with cls(path, record, _locked(path))._closed_on_error() as journal:
            journal._read_head()
            _refuse_other(path, journal.head.request, request)
            os.ftruncate(journal._handle, journal._end)
            return journal

    @classmethod
    def load(cls, path: Path, record: type[Record]) -> Journal[Record]:
        """Open the journal at `path` for reading, with any request, even while it is written."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NearfarError(f"cannot read {path}: {error.strerror}") from error
        with cls(path, record, handle)._closed_on_error() as journal:
            journal._read_head()
            return journal

    def append(self, record: Record | JournalHead) -> None:
        """Add a record; once this returns, the kernel has the record, so it survives this process.

        Raises NearfarError if the disk is full; the journal then ends before this record.
        """
        content = msgspec.json.encode(record)
        self._end += _write_all(self._handle, self.path, self._end, _encoded_line(content))

    def records(self) -> Iterator[Record]:
        """Yield all records in the order of their appends; only one at a time is in memory."""
        for line in self._lines(self._first, self._end):
            try:
                yield msgspec.json.decode(line[_CRC_DIGITS + 1 : -1], type=self._record)
            except msgspec.DecodeError as error:
                raise NearfarError(
                    f"cannot read {self.path}: {error}; it is of another version of nearfar: "
                    "remove it and start again"
                ) from error

    def close(self) -> None:
        """Close the file; the records stay. Closing twice does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def discard(self) -> None:
        """Remove and close the file, after its records were stored elsewhere."""
        self.path.unlink(missing_ok=True)
        self.close()

    def __enter__(self) -> Journal[Record]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[Journal[Record]]:
        """Close the file if the block fails; else it stays open."""
        try:
            yield self
        except BaseException:
            self.close()
            raise

    def _scan(self) -> None:
        """Find the end of the last whole record."""
        size = os.fstat(self._handle).st_size
        self._end = sum(len(line) for line in self._lines(0, size))
        self.dropped_bytes = size - self._end

    def _read_head(self) -> None:
        self._scan()
        first = next(self._lines(0, self._end), b"")
        try:
            self.head = msgspec.json.decode(first[_CRC_DIGITS + 1 :], type=JournalHead)
        except msgspec.DecodeError as error:
            raise _not_ours(self.path) from error
        self._first = len(first)

    def _lines(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield whole lines between two positions, and stop at the first damaged one."""
        # Each reader opens the file again, because readers of one handle share its position.
        with Path(f"/proc/self/fd/{self._handle}").open("rb") as file:
            file.seek(begin)
            while begin < end:
                line = file.readline()
                if line != _encoded_line(line[_CRC_DIGITS + 1 : -1]):
                    return
                begin += len(line)
                yield line


def _encoded_line(content: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _locked(path: Path, flags: int = 0, *, wait: bool = False) -> int:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o666)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        os.close(handle)
        raise JournalInUseError(
            f"{path} is being written by another nearfar: wait for it, or choose another output "
            "with -o"
        ) from error
    except OSError:
        pass  # a file system without locks: the user must not run two processes at once
    if os.fstat(handle).st_nlink:
        return handle
    os.close(handle)  # its last owner removed it meanwhile
    return _locked(path, flags, wait=wait)


def _not_ours(path: Path) -> NearfarError:
    return NearfarError(
        f"{path} holds no work that this version of nearfar can go on with: choose another output "
        "with -o, or remove it"
    )


def _refuse_other(path: Path, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    differ = [
        f"{name} was {there.get(name, 'not set')} and is {here.get(name, 'not set')}"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    if differ:
        raise NearfarError(
            f"cannot resume {path}: it was begun with another request ({'; '.join(differ)}); "
            "repeat the earlier command, leave out --resume, or choose another output with -o"
        )


def _write_all(handle: int, path: Path, position: int, data: bytes) -> int:
    """Write `data` at `position`, whole or not at all; return its length."""
    done = 0
    try:
        while done < len(data):
            done += os.pwrite(handle, memoryview(data)[done:], position + done)
    except OSError as error:
        os.ftruncate(handle, position)
        raise NearfarError(
            f"{cannot_write(path, error)}; finished work is kept: repeat the command with --resume",
            ExitCode.MACHINE_LACKS,
        ) from error
    except BaseException:  # Ctrl-C between two parts of a long record
        os.ftruncate(handle, position)
        raise
    return len(data)
