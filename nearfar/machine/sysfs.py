"""Read a sysfs and procfs tree: of this machine ("/"), or one captured from another.

A missing file gives None, because kernels differ. A file with unexpected content is an error that
names the file, because a guess could describe a machine that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError

_UNITS = {"": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30}
"""Suffixes of sizes that the kernel writes; all are powers of two."""


class Tree:
    """Files below a root folder that contains `sys` and `proc`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.live = root.resolve() == Path("/")
        """Whether this is the running machine; system calls are tried only then."""
        if not root.is_dir():
            raise NearfarError(f"cannot read the machine at {root}: there is no such folder")
        if not (root / "sys").is_dir() and not (root / "proc").is_dir():
            raise NearfarError(
                f"{root} is not the root of a machine: it holds neither sys nor proc "
                "(name the folder above them)"
            )

    def text(self, path: str) -> str | None:
        """Return the stripped text of `path`; None if it is missing.

        Some sysfs files cannot be read if the hardware lacks a feature; they count as missing.
        Raises NearfarError if permission is denied.
        """
        try:
            return (self.root / path).read_text(errors="replace").strip("\0 \n\t")
        except PermissionError as error:
            raise NearfarError(
                f"cannot read {self.root / path}: permission denied; run as a user that may "
                "read it",
                ExitCode.MACHINE_LACKS,
            ) from error
        except OSError:
            return None

    def text_if_allowed(self, path: str) -> str | None:
        """Return the text of `path`; None if it is missing or permission is denied."""
        try:
            return self.text(path)
        except NearfarError:
            return None

    def number(self, path: str) -> int | None:
        """Return the integer in `path` (decimal or 0x...); None if the file is missing or empty."""
        text = self.text(path)
        if text is None or text == "":
            return None
        try:
            return int(text, 0) if text.lower().startswith("0x") else int(text)
        except ValueError:
            raise self.broken(path, text, "a whole number") from None

    def size_bytes(self, path: str) -> int | None:
        """Return the size in `path`, such as ``32768K``, in bytes."""
        text = self.text(path)
        if text is None or text == "":
            return None
        match = re.fullmatch(r"([0-9]+)\s*([KMG]?B?)", text, re.IGNORECASE)
        if match is None or match[2].upper() not in _UNITS:
            raise self.broken(path, text, "a size such as 32768K")
        return int(match[1]) * _UNITS[match[2].upper()]

    def cpu_list(self, path: str) -> list[int] | None:
        """Return the numbers in a list such as ``0-3,8``; None if the file is missing."""
        text = self.text(path)
        if text is None:
            return None
        numbers = parse_list(text)
        if numbers is None:
            raise self.broken(path, text, "a list such as 0-3,8")
        return numbers

    def exists(self, path: str) -> bool:
        """Return whether `path` exists."""
        return (self.root / path).exists()

    def entries(self, path: str, pattern: str) -> list[str]:
        """Return the names in folder `path` that match the whole regular expression, in order."""
        try:
            names = [entry.name for entry in (self.root / path).iterdir()]
        except OSError:
            return []
        return sorted((name for name in names if re.fullmatch(pattern, name)), key=natural)

    def link_name(self, path: str) -> str | None:
        """Return the last part of what the symbolic link `path` points to, or None."""
        try:
            return (self.root / path).readlink().name
        except OSError:
            return None

    def table(self, path: str) -> dict[str, str]:
        """Return the ``key: value`` lines, the first of each key; empty if the file is missing."""
        rows: dict[str, str] = {}
        for key, value in self.pairs(path):
            rows.setdefault(key, value)
        return rows

    def pairs(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield every ``key: value`` line of `path`."""
        for line in (self.text(path) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                yield key.strip(), value.strip()

    def broken(self, path: str, text: str, wanted: str) -> NearfarError:
        """Return the error for a file with other content than the kernel writes there."""
        return NearfarError(f"{self.root / path} holds {text[:40]!r}, not {wanted}")

    def kernel(self) -> tuple[int, int] | None:
        """Return the Linux kernel's version, such as (6, 1); None if it is unknown."""
        match = re.match(r"([0-9]+)\.([0-9]+)", self.text("proc/sys/kernel/osrelease") or "")
        return (int(match[1]), int(match[2])) if match else None


def parse_list(text: str) -> list[int] | None:
    """Return the numbers of ``0-3,8``; None where the text is no such list."""
    numbers: list[int] = []
    for part in text.split(","):
        if not part.strip():
            continue
        match = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        if match is None:
            return None
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers


def format_list(numbers: Iterable[int]) -> str:
    """Return numbers as a list of ranges: ``0-3,8``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def natural(name: str) -> tuple[object, ...]:
    """Sort key that puts cpu10 after cpu9."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in _digit_groups(name)
    )


def _digit_groups(name: str) -> list[str]:
    return [part for part in re.split(r"([0-9]+)", name) if part]
