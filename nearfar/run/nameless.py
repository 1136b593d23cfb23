"""Frames without a name, as stripped programs have them: ``libx.so.1+0x1234``, a return address.

The same library is called libx.so.1 by who links it and libx.so.1.2.3 by the kernel. Whether
another build has the call too shows in its code: before a return address there is a call.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

_NAMELESS = re.compile(r"(?P<module>.+)\+0x(?P<offset>[0-9a-f]+)", re.ASCII)
_VERSION = re.compile(r"(?<=\.so)(\.[0-9]+)+$", re.ASCII)
_PT_LOAD = 1
_LONGEST_CALL = 7


@dataclass(frozen=True)
class Nameless:
    """A place in a file."""

    module: str
    """The file's name, of libraries without their version."""
    offset: int
    """Its own (ELF) address."""

    def __str__(self) -> str:
        return f"{self.module}+{self.offset:#x}"


def parse(function: str) -> Nameless | None:
    """Return the place that stands for a function's name; None: it is a name."""
    match = _NAMELESS.fullmatch(function)
    if match is None:
        return None
    return Nameless(_VERSION.sub("", match["module"]), int(match["offset"], 16))


def returns_to(content: bytes, offset: int) -> bool:
    """Tell whether the program file `content` (ELF, x86-64) has a call that returns to `offset`."""
    at = _in_file(content, offset)
    if at is None or at < _LONGEST_CALL:
        return False
    before = content[at - _LONGEST_CALL : at]
    if before[-5] == 0xE8:  # call rel32
        return True
    # call r/m64: ff /2, with as many bytes of address as its form takes.
    return any(
        before[-length] == 0xFF and before[1 - length] >> 3 & 7 == 2 for length in (2, 3, 4, 6, 7)
    )


def _in_file(content: bytes, address: int) -> int | None:
    """Return where in the file an address of its code is."""
    if content[:4] != b"\x7fELF" or len(content) < 64 or content[4] != 2:
        return None
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for number in range(count):
        kind, _, offset, begin, _, length = struct.unpack_from(
            "<IIQQQQ", content, table + size * number
        )
        if kind == _PT_LOAD and begin <= address < begin + length:
            return int(offset + address - begin)
    return None
