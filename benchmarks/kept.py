"""Saved parts of a row that takes minutes, so that it can be interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.journal import Journal

Taken = TypeVar("Taken")


class Part(msgspec.Struct, frozen=True):
    """A finished part."""

    name: str
    content: msgspec.Raw


class Kept:
    """Stores parts of a row under build/; drops those of another `commit` or of changed files."""

    def __init__(
        self, row: str, measured: Sequence[Path], commit: str = "", *, again: bool = False
    ) -> None:
        path = Path("build/benchmarks") / f"{row}.journal"
        content = b"".join(path.read_bytes() for path in measured) + commit.encode()
        request = {"measured": hashlib.sha256(content).hexdigest()}
        path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            path.unlink(missing_ok=True)
        try:
            self._journal = Journal.resume(path, Part, request)
        except NearfarError:
            self._journal = Journal.begin(path, Part, request)
        self._parts = {part.name: part.content for part in self._journal.records()}

    def has(self, part: str) -> bool:
        """Return whether `part` is saved."""
        return part in self._parts

    def get(self, part: str, kind: type[Taken], measure: Callable[[], Taken]) -> Taken:
        """Return the saved `part`, or measure and save it."""
        if part in self._parts:
            return msgspec.json.decode(self._parts[part], type=kind)
        result = measure()
        content = msgspec.Raw(msgspec.json.encode(result))
        self._journal.append(Part(part, content))
        self._parts[part] = content
        return result

    def finish(self) -> None:
        """Delete all parts."""
        self._journal.discard()
