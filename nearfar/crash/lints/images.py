"""Writes an image into a file, recovers it by the user's checker, and asks what is in it."""

from __future__ import annotations

import mmap
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.crash.checker import Verdict, parse, run_once
from nearfar.native_files import native_file

TOOL = "nearfar_crash_pool"
_MOST_IMAGE_BYTES = 64 << 20
"""Of a pool that these lints look into: larger ones would take their time from the oracle's."""
_SECONDS = 10.0
"""Of all images together."""
_TOOL_SECONDS = 5.0


@dataclass(frozen=True)
class PoolObject:
    """An object that the tool found."""

    offset: int
    size: int
    """Bytes it has room for."""
    type_number: int
    """-1: the root."""
    is_reachable: bool


class Images:
    """Of one exploration, in a file of its own."""

    def __init__(
        self,
        path: Path,
        check: str,
        timeout_s: float,
        environment: Mapping[str, str],
        *,
        before: Path | None = None,
    ) -> None:
        """`before`: the pool as the run found it, or None if it made it."""
        self._path = path
        self._command = parse(check)
        self._timeout_s = timeout_s
        self._environment = dict(environment)
        self._before = before
        self._deadline = time.monotonic() + _SECONDS

    def exhausted(self) -> bool:
        """Return whether the time for lints is spent."""
        return time.monotonic() >= self._deadline

    def fits(self, size_bytes: int) -> bool:
        """Return whether images of this size are looked at."""
        return size_bytes <= _MOST_IMAGE_BYTES

    def put(
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

    def recover(self, done: int, begun: int) -> Verdict:
        """Run the user's checker on the image, which may mend it."""
        return run_once(
            self._command, self._path, (done, begun), self._timeout_s, self._environment
        )

    def objects(self) -> list[PoolObject]:
        """Return the objects of the image as it is; none if it is no pool of libpmemobj."""
        return self._objects(self._path)

    def content(self) -> bytes:
        """Return the image as it is."""
        return self._path.read_bytes()

    def before(self) -> list[PoolObject]:
        """Return the objects of the pool as the run found it."""
        if self._before is None or not self.fits(self._before.stat().st_size):
            return []
        self._path.write_bytes(self._before.read_bytes())  # it is recovered when it is opened
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
                timeout=_TOOL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return []
        if answer.returncode != 0:
            return []
        rows = [tuple(map(int, line.split())) for line in answer.stdout.splitlines()]
        return [PoolObject(a, b, c, bool(d)) for a, b, c, d in rows]
