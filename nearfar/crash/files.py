"""The files that show a bug again, and showing it."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path
from nearfar.crash.api import check_room, scratch
from nearfar.crash.bugs import Found
from nearfar.crash.checker import Checker, Verdict
from nearfar.crash.image import Image
from nearfar.crash.layout import PAGE_BYTES
from nearfar.crash.record import MOST_POOL_BYTES, environment
from nearfar.documents.crash_report import CrashReport, CrashState
from nearfar.documents.header import save


def write_states(report: CrashReport, found: list[Found], folder: Path, timeout_s: float) -> None:
    """Write ``bug-N.json`` for each bug into `folder`, and say so in the report's bugs."""
    if found:
        folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        path = folder / f"bug-{one.bug.id}.json"
        one.bug.replay = str(path)
        state = CrashState(
            producer=report.producer,
            bug=one.bug,
            check=report.check,
            timeout_s=timeout_s,
            done=one.done,
            begun=one.begun,
            pool_bytes=report.pool_bytes,
            pages=one.pages,
        )
        save(state, path)


def replay(state: CrashState, *, check: str | None, keep: Path | None) -> Verdict:
    """Rebuild the image, keep a copy of it if asked for, and run the checker on it."""
    image = _image(state)
    with scratch() as folder:
        check_room(folder, state.pool_bytes)
        pool = Image(folder / "state", state.pool_bytes)
        try:
            pool.write(image, {})
            if keep is not None:
                with atomic_path(keep) as path:
                    shutil.copyfile(folder / "state", path)
            checker = Checker(
                check or state.check, folder / "state", state.timeout_s, environment()
            )
            return checker.run(state.done, state.begun)
        finally:
            pool.close()


def _image(state: CrashState) -> bytearray:
    if not 0 < state.pool_bytes <= MOST_POOL_BYTES:
        raise NearfarError(f"a pool of {state.pool_bytes} bytes is not one that nearfar explores")
    image = bytearray((state.pool_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES)
    for page in state.pages:
        try:
            content = zlib.decompress(page.content)
        except zlib.error as error:
            raise NearfarError(f"the page at {page.offset} cannot be read: {error}") from error
        if len(content) != PAGE_BYTES or not 0 <= page.offset <= len(image) - PAGE_BYTES:
            raise NearfarError(f"the page at {page.offset} does not fit the pool")
        image[page.offset : page.offset + PAGE_BYTES] = content
    return image
