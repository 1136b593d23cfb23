"""The log of a program's file calls, in the format of native/crash/files/log.hpp."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from nearfar.program.symbols import SourceLocation

_RECORD = struct.Struct("<HHIQQII")
"""kind, frames, bytes, a, b, process, c."""
_MODULE_SHIFT = 48
_OFFSET_MASK = (1 << _MODULE_SHIFT) - 1


class LogKind(IntEnum):
    """enum class LogKind."""

    MODULE = 1
    WRITE = 2
    MAPPED = 3
    TRUNCATE = 4
    ALLOCATE = 5
    CREATE = 6
    MKDIR = 7
    RMDIR = 8
    UNLINK = 9
    LINK = 10
    SYMLINK = 11
    RENAME = 12
    FSYNC = 13
    SYNC = 14
    RANGE = 15
    OUTPUT = 16
    REFUSED = 17
    OUTSIDE = 18
    UNRECORDED = 19


WRITE_IS_DURABLE = 2
"""O_SYNC, O_DSYNC or RWF_DSYNC."""


@dataclass(frozen=True, slots=True)
class FileCall:
    """One record; native/crash/files/log.hpp explains `a`, `b`, `c` and the payload."""

    number: int
    """Number of the record, from 0."""
    kind: LogKind
    a: int
    b: int
    c: int
    payload: bytes
    stack: tuple[int, ...] = ()
    """Places in modules, innermost first."""

    def name(self) -> str:
        """Return the payload as text."""
        return self.payload.decode(errors="surrogateescape")

    def names(self) -> tuple[str, str]:
        """Return the payload's two texts."""
        first, _, second = self.payload.partition(b"\0")
        return first.decode(errors="surrogateescape"), second.decode(errors="surrogateescape")

    def range(self) -> tuple[int, int]:
        """Return the payload's two numbers."""
        first, second = struct.unpack("<QQ", self.payload)
        return first, second


@dataclass
class FileLog:
    """One run's calls in the order in which they returned, and what was not recorded."""

    calls: list[FileCall] = field(default_factory=list)
    modules: dict[int, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    """Calls that failed with ENOSYS, because they cannot be recorded."""
    outside: list[str] = field(default_factory=list)
    """Files outside the data that were written."""
    unrecorded: set[str] = field(default_factory=set)

    def place(self, address: int) -> SourceLocation:
        """Return the file and offset of a frame."""
        module = self.modules.get(address >> _MODULE_SHIFT, "")
        return SourceLocation(module, address & _OFFSET_MASK)


def read_log(path: Path) -> FileLog:
    """Read a log; an incomplete last record is omitted."""
    log = FileLog()
    for call in _calls(path.read_bytes()):
        if call.kind is LogKind.MODULE:
            log.modules[call.a] = call.name()
        elif call.kind is LogKind.REFUSED:
            log.refused.add(call.name())
        elif call.kind is LogKind.OUTSIDE:
            log.outside.append(call.name())
        elif call.kind is LogKind.UNRECORDED:
            log.unrecorded.add(call.name())
        else:
            log.calls.append(call)
    return log


def _calls(data: bytes) -> Iterator[FileCall]:
    stacks: dict[bytes, tuple[int, ...]] = {}
    at = number = 0
    while at + _RECORD.size <= len(data):
        kind, frames, size, a, b, _process, c = _RECORD.unpack_from(data, at)
        begin = at + _RECORD.size
        payload = begin + 8 * frames
        at = payload + (size + 7) // 8 * 8
        if at > len(data):
            return
        raw = data[begin:payload]
        if raw not in stacks:
            stacks[raw] = struct.unpack(f"<{frames}Q", raw)
        yield FileCall(number, LogKind(kind), a, b, c, data[payload : payload + size], stacks[raw])
        number += 1
