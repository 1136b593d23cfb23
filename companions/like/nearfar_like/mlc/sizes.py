"""Numbers as MLC's users type them: ``200m``, ``0-7,16-23``, ``0xff``."""

from __future__ import annotations

import re

from nearfar.base.errors import CommandError

_SUFFIXES = {"": 1 << 10, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
"""Bytes per unit; a bare number is KiB, as in MLC."""


def size_bytes(text: str, where: str) -> int:
    """Read ``200m``, ``1g``, ``40000`` (KiB); `where` names the option or the file's line."""
    match = re.fullmatch(r"([0-9]+)([kKmMgG]?)[bB]?", text)
    if match is None or int(match[1]) == 0:
        raise CommandError(
            f"{where}: {text!r} is no size; write a number of KiB, or a number with k, m or g, "
            "such as 200m"
        )
    return int(match[1]) * _SUFFIXES[match[2].lower()]


def number(text: str, where: str, least: int = 0) -> int:
    """Read a whole number of at least `least`."""
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise CommandError(f"{where}: {text!r} is no whole number of at least {least}")
    return int(text)


def cpu_list(text: str, where: str) -> tuple[int, ...]:
    """Read ``3-6,9-13,20``: ascending within a range, each CPU once."""
    cpus: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            raise CommandError(
                f"{where}: {text!r} is no list of CPUs; write numbers and ranges, such as "
                "0-7,16-23, without blanks"
            )
        cpus += range(int(match[1]), int(match[2] or match[1]) + 1)
    if len(set(cpus)) != len(cpus):
        twice = next(cpu for cpu in cpus if cpus.count(cpu) > 1)
        raise CommandError(f"{where}: CPU {twice} is given twice in {text!r}")
    return tuple(cpus)


def cpu_mask(text: str, where: str) -> tuple[int, ...]:
    """Read a hexadecimal mask, bit 0 for CPU 0."""
    if not re.fullmatch(r"(?:0[xX])?[0-9a-fA-F]+", text) or int(text, 16) == 0:
        raise CommandError(f"{where}: {text!r} is no hexadecimal mask of CPUs, such as 0xfe")
    mask = int(text, 16)
    return tuple(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def mib(size: int) -> str:
    """Return a size as MLC prints it: ``200.000MiB``."""
    return f"{size / (1 << 20):.3f}MiB"
