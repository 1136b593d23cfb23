"""Calls in x86-64 ELF files: the instruction before a return address, and the function it calls."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_PT_LOAD, _SHT_RELA = 1, 4
_CALL, _CALL_SLOT, _JUMP_SLOT = b"\xe8", b"\xff\x15", b"\xff\x25"
"""Opcodes: call rel32, and call and jmp through a slot of the global offset table (GOT)."""
_STUB_BYTES = 16
"""Bytes of a PLT stub, which jumps to another library's function."""
_OPERATORS = {"_Znwm": "operator new", "_Znam": "operator new[]"}


def file_offset(content: bytes, address: int) -> int | None:
    """Return the position in the file of an ELF address of code."""
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


@lru_cache(maxsize=4096)
def called_function(module: str, return_offset: int) -> str:
    """Return the other library's function that the call before a return address calls.

    "" if the function is in the same file, or unknown.
    """
    try:
        content, slots = _imports(module)
        slot = _called_slot(content, return_offset)
    except (OSError, struct.error, ValueError):
        return ""
    return "" if slot is None else slots.get(slot, "")


def _called_slot(content: bytes, return_offset: int) -> int | None:
    """Return the address of the GOT slot that a call uses, directly or through a PLT stub."""
    at = file_offset(content, return_offset)
    if at is None or at < 6:
        return None
    (distance,) = struct.unpack_from("<i", content, at - 4)
    if content[at - 6 : at - 4] == _CALL_SLOT:
        return int(return_offset + distance)
    if content[at - 5 : at - 4] != _CALL:
        return None
    target = return_offset + distance
    stub = file_offset(content, target)
    jump = -1 if stub is None else content.find(_JUMP_SLOT, stub, stub + _STUB_BYTES - 4)
    if stub is None or jump < 0:
        return None
    (distance,) = struct.unpack_from("<i", content, jump + 2)
    return int(target + (jump - stub) + 6 + distance)


@lru_cache(maxsize=8)
def _imports(module: str) -> tuple[bytes, dict[int, str]]:
    """Return the file's content, and the function in each GOT slot, by address."""
    content = Path(module).read_bytes()
    if content[:4] != b"\x7fELF" or len(content) < 64 or content[4] != 2:
        raise ValueError(module)
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, table + size * n) for n in range(count)]
    slots: dict[int, str] = {}
    for _, kind, _, _, offset, length, symbols, _, _, _ in sections:
        if kind == _SHT_RELA and symbols < count:
            names = sections[sections[symbols][6]][4]
            slots.update(_slots(content, (offset, length), sections[symbols][4], names))
    return content, slots


def _slots(
    content: bytes, rows: tuple[int, int], symbols: int, names: int
) -> Iterator[tuple[int, str]]:
    """Yield address and function of each slot in a relocation table (file offset, bytes)."""
    offset, length = rows
    for at in range(offset, offset + length, 24):
        slot, info, _ = struct.unpack_from("<QQq", content, at)
        if info >> 32:
            (name,) = struct.unpack_from("<I", content, symbols + 24 * (info >> 32))
            end = content.index(b"\0", names + name)
            text = content[names + name : end].decode(errors="replace")
            yield slot, _OPERATORS.get(text, text)
