"""Reads sections of ELF files and adds one, in place: what objcopy does, without starting it.

Only 64-bit little-endian files; others have no sections here.
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

SHT_PROGBITS = 1
SHF_EXCLUDE = 0x80000000
"""Section flag: linkers leave the section out of what they write, unless that is relocatable."""
_SHF_EXECINSTR = 0x4

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_TOO_MANY = 0xFF00
"""Section counts from here on (SHN_LORESERVE) are kept in section 0."""


class Section:
    """One section header, with its name."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: tuple[int, ...]) -> None:
        self.name = name
        self.fields = fields

    @property
    def offset(self) -> int:
        """Place of its content in the file, bytes."""
        return self.fields[4]

    @property
    def size(self) -> int:
        """Size of its content, bytes."""
        return self.fields[5]

    @property
    def is_code(self) -> bool:
        """Whether it holds instructions."""
        return bool(self.fields[2] & _SHF_EXECINSTR) and self.size > 0


def sections(file: BinaryIO, start: int = 0) -> list[Section]:
    """Return the sections of the ELF file that begins at `start`; none if it is no ELF file."""
    table = _table(file, start)
    if table is None:
        return []
    _, entries, names_index = table
    _, _, _, _, names_at, names_size, *_ = entries[names_index]
    file.seek(start + names_at)
    names = file.read(names_size)
    return [
        Section(names[entry[0] : names.find(b"\0", entry[0])].decode("utf-8", "replace"), entry)
        for entry in entries
    ]


def read_section(file: BinaryIO, name: str, start: int = 0) -> bytes | None:
    """Return the content of section `name`, or None."""
    for section in sections(file, start):
        if section.name == name:
            file.seek(start + section.offset)
            return file.read(section.size)
    return None


def add_section(path: str, name: str, parts: list[bytes], flags: int) -> bool:
    """Append a section made of `parts` to the ELF file `path`; False if it is no ELF file.

    Content, a longer table of names and the new section headers go to the file's end; nothing
    that was there moves.
    """
    with open(path, "r+b") as file:
        table = _table(file, 0)
        if table is None:
            return False
        header, entries, names_index = table
        names_entry = list(entries[names_index])
        file.seek(names_entry[4])
        names = file.read(names_entry[5])

        file.seek(0, os.SEEK_END)
        at = file.tell()
        size = 0
        for part in parts:
            file.write(part)
            size += len(part)
        new = [len(names), SHT_PROGBITS, flags, 0, at, size, 0, 0, 1, 0]
        names += name.encode() + b"\0"
        names_entry[4] = file.tell()
        names_entry[5] = len(names)
        file.write(names)
        file.write(b"\0" * (-file.tell() % 8))
        headers_at = file.tell()
        all_entries = [list(entry) for entry in entries]
        all_entries[names_index] = names_entry
        all_entries.append(new)
        count = len(all_entries)
        fields = list(header)
        if count >= _TOO_MANY:
            all_entries[0][5] = count
            fields[12] = 0
        else:
            fields[12] = count
        fields[6] = headers_at
        file.write(b"".join(_SECTION.pack(*entry) for entry in all_entries))
        file.seek(0)
        file.write(_HEADER.pack(*fields))
    return True


_Entries = list[tuple[int, ...]]


def _table(file: BinaryIO, start: int) -> tuple[tuple[int, ...], _Entries, int] | None:
    """Return header fields, section headers and the index of the names' section."""
    file.seek(start)
    raw = file.read(_HEADER.size)
    if len(raw) < _HEADER.size or raw[:6] != b"\x7fELF\x02\x01":
        return None
    header = _HEADER.unpack(raw)
    headers_at, count, names_index = header[6], header[12], header[13]
    if headers_at == 0:
        return None
    file.seek(start + headers_at)
    head = file.read(_SECTION.size)
    if len(head) < _SECTION.size:
        return None  # cut off
    first = _SECTION.unpack(head)
    if count == 0:
        count = first[5]
    if names_index == 0xFFFF:  # SHN_XINDEX
        names_index = first[6]
    rest = file.read(_SECTION.size * (count - 1))
    if len(rest) < _SECTION.size * (count - 1) or names_index >= count:
        return None
    return header, [first, *_SECTION.iter_unpack(rest)], names_index
