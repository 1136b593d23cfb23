"""Saved parts of a row that takes minutes, so that it can be interrupted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from nearfar.base.files import write_atomically

Taken = TypeVar("Taken")


class Kept:
    """Stores parts of a row under build/ and drops those of other programs than `measured`."""

    def __init__(self, row: str, measured: Sequence[Path]) -> None:
        self._folder = Path("build/benchmarks") / row
        mark = hashlib.sha256(b"".join(path.read_bytes() for path in measured)).hexdigest()
        self._mark = mark
        noted = self._folder / "programs"
        if noted.is_file() and noted.read_text() != mark:
            self.finish()
        self._folder.mkdir(parents=True, exist_ok=True)
        noted.write_text(mark)

    def get(self, part: str, kind: type[Taken], measure: Callable[[], Taken]) -> Taken:
        """Return the saved `part`, or measure and save it."""
        path = self._folder / f"{part}.json"
        if path.is_file():
            return msgspec.json.decode(path.read_bytes(), type=kind)
        result = measure()
        write_atomically(path, msgspec.json.encode(result))
        return result

    def finish(self) -> None:
        """Delete all parts."""
        shutil.rmtree(self._folder, ignore_errors=True)
