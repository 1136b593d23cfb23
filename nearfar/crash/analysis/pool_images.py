"""An image of the pool in a file: its recovery by the checker, and its objects."""

from __future__ import annotations

import mmap
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.checker import CheckerVerdict, parse, run_once
from nearfar.native_files import native_file

TOOL = "nearfar_crash_pool"
_MAX_IMAGE_BYTES = 64 << 20
"""Largest pool whose images are examined: larger ones would take time from the exploration."""
_MAX_SECONDS = 10.0
"""Time for all images together."""
_MAX_TOOL_SECONDS = 5.0


@dataclass(frozen=True)
class PoolObject:
    """An object in an image."""

    offset: int
    size: int
    """Capacity in bytes."""
    type_number: int
    """-1: the root."""
    is_reachable: bool


class PoolImages:
    """Images of one exploration, one at a time in one file."""

    def __init__(
        self,
        path: Path,
        check: str,
        timeout_s: float,
        environment: Mapping[str, str],
        *,
        before: Path | None = None,
    ) -> None:
        """Use `before` as the pool before the run; None: the run created it."""
        self._path = path
        self._command = parse(check)
        self._timeout_s = timeout_s
        self._environment = dict(environment)
        self._before = before
        self._deadline = time.monotonic() + _MAX_SECONDS

    def exhausted(self) -> bool:
        """Return whether the time for images is used up."""
        return time.monotonic() >= self._deadline

    def fits(self, size_bytes: int) -> bool:
        """Return whether images of this size are examined."""
        return size_bytes <= _MAX_IMAGE_BYTES

    def write(
        self, durable: bytes | bytearray | mmap.mmap, lines: Mapping[int, bytes], size_bytes: int
    ) -> None:
        """Write an image; a sparse one stays sparse."""
        zeros = bytes(PAGE_BYTES)
        self._path.unlink(missing_ok=True)
        with self._path.open("wb") as file:
            file.truncate(size_bytes)
            for at in range(0, size_bytes, PAGE_BYTES):
                page = durable[at : at + PAGE_BYTES]
                if page != zeros:
                    file.seek(at)
                    file.write(page)
            for offset, content in lines.items():
                file.seek(offset)
                file.write(content[: min(LINE_BYTES, size_bytes - offset)])

    def recover(self, done: int, begun: int) -> CheckerVerdict:
        """Run the user's checker on the image, which may recover it."""
        return run_once(
            self._command, self._path, (done, begun), self._timeout_s, self._environment
        )

    def objects(self) -> list[PoolObject]:
        """Return the objects of the image; none if it is not a pool of libpmemobj."""
        return self._objects(self._path)

    def content(self) -> bytes:
        """Return the image."""
        return self._path.read_bytes()

    def before(self) -> list[PoolObject]:
        """Return the objects of the pool before the run."""
        if self._before is None or not self.fits(self._before.stat().st_size):
            return []
        self._path.write_bytes(self._before.read_bytes())  # opening it recovers it
        return self._objects(self._path)

    def close(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)

    def _objects(self, path: Path) -> list[PoolObject]:
        try:
            answer = subprocess.run(
                [native_file(TOOL), "objects", path],
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=_MAX_TOOL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return []
        if answer.returncode != 0:
            return []
        rows = [tuple(map(int, line.split())) for line in answer.stdout.splitlines()]
        return [PoolObject(a, b, c, bool(d)) for a, b, c, d in rows]
