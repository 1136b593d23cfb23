"""Code offsets such as ``libx.so.1+0x1234``: frames without a name, as in stripped programs.

A library is called libx.so.1 by programs that link it and libx.so.1.2.3 by the kernel, so versions
are left out. Whether another build has the same call shows in its code: a call instruction precedes
every return address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.program.calls import file_offset

_PATTERN = re.compile(r"(?P<module>.+)\+0x(?P<offset>[0-9a-f]+)", re.ASCII)
_VERSION = re.compile(r"(?<=\.so)(\.[0-9]+)+$", re.ASCII)
_MAX_CALL_BYTES = 7
"""Longest call instruction of x86-64 that is recognised."""


@dataclass(frozen=True)
class CodeOffset:
    """A return address in a file."""

    module: str
    """The file's name, without a library's version."""
    offset: int
    """ELF address."""

    def __str__(self) -> str:
        return f"{self.module}+{self.offset:#x}"


def parse(function: str) -> CodeOffset | None:
    """Return the code offset in place of a function's name; None if it is a name."""
    match = _PATTERN.fullmatch(function)
    if match is None:
        return None
    return CodeOffset(_VERSION.sub("", match["module"]), int(match["offset"], 16))


def returns_to(content: bytes, offset: int) -> bool:
    """Return whether the ELF file `content` (x86-64) has a call that returns to `offset`."""
    at = file_offset(content, offset)
    if at is None or at < _MAX_CALL_BYTES:
        return False
    before = content[at - _MAX_CALL_BYTES : at]
    if before[-5] == 0xE8:  # call rel32
        return True
    # call r/m64 is ff /2; its length depends on the form of the address.
    return any(
        before[-length] == 0xFF and before[1 - length] >> 3 & 7 == 2 for length in (2, 3, 4, 6, 7)
    )
