"""Frames between nearfar and the explorers (native/crash/explore/wire.hpp).

Type and length, 4 bytes each, then the payload: numbers of 8 bytes, texts behind their length.
"""

from __future__ import annotations

import struct
from typing import IO

from nearfar.base.errors import ExitCode, NearfarError

_HEAD = struct.Struct("<II")
_NUMBER = struct.Struct("<Q")
_SIGNED = struct.Struct("<q")


class ReceivedFrame:
    """A frame from an explorer, read from front to back."""

    def __init__(self, kind: str, payload: bytes) -> None:
        self.kind = kind
        self._payload = payload
        self._at = 0

    def number(self) -> int:
        """Return the next unsigned number."""
        (value,) = _NUMBER.unpack_from(self._payload, self._at)
        self._at += 8
        return int(value)

    def signed(self) -> int:
        """Return the next signed number."""
        (value,) = _SIGNED.unpack_from(self._payload, self._at)
        self._at += 8
        return int(value)

    def numbers(self, count: int) -> tuple[int, ...]:
        """Return the next `count` numbers."""
        values = struct.unpack_from(f"<{count}Q", self._payload, self._at)
        self._at += 8 * count
        return values

    def raw(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        self._at += size
        return self._payload[self._at - size : self._at]

    def text(self) -> str:
        """Return the next text; invalid UTF-8 is replaced."""
        return self.raw(self.number()).decode(errors="replace")


def receive(source: IO[bytes]) -> ReceivedFrame:
    """Wait for a frame."""
    head = source.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise NearfarError("an explorer of nearfar crash ended early", ExitCode.PROGRAM_FAILED)
    kind, length = _HEAD.unpack(head)
    payload = source.read(length)
    if len(payload) < length:
        raise NearfarError("an explorer of nearfar crash ended early", ExitCode.PROGRAM_FAILED)
    return ReceivedFrame(chr(kind), payload)


def encoded_frame(kind: str, *values: int | str) -> bytes:
    """Return a frame to send."""
    payload = b""
    for value in values:
        if isinstance(value, int):
            payload += _NUMBER.pack(value)
        else:
            text = value.encode()
            payload += _NUMBER.pack(len(text)) + text
    return _HEAD.pack(ord(kind), len(payload)) + payload
