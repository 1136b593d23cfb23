"""Writes images of a folder of files, and reads them for bug files."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.crash.files.contents import FileImage
from nearfar.documents.crash_report import CrashFile

_BLOCK_BYTES = 1 << 16
MAX_DATA_BYTES = 1 << 30
"""Largest data, which is kept in memory and written for each state."""


def write_image(image: Sequence[FileImage], folder: Path) -> None:
    """Write the image into `folder` and replace its content."""
    try:
        _remove(folder)
        folder.mkdir()
        for file in image:
            path = folder / file.path
            if file.content is not None:
                _write(path, file.content)
                path.chmod(file.mode | 0o600)
            elif file.target is not None:
                path.symlink_to(file.target)
            else:
                path.mkdir(mode=file.mode | 0o700)
    except OSError as error:
        raise NearfarError(
            f"cannot write an image of the files in {folder.parent}: {error.strerror}; free some "
            "space there, or explore less data",
            ExitCode.MACHINE_LACKS,
        ) from error


def _remove(folder: Path) -> None:
    """Remove the previous image, which its checker may have replaced by a file or a link."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        make_writable(folder)
        shutil.rmtree(folder)


def _write(path: Path, content: bytes) -> None:
    """Write a file; blocks of zeros become holes."""
    with path.open("wb") as file:
        if len(content) <= _BLOCK_BYTES:
            file.write(content)
            return
        zeros = bytes(_BLOCK_BYTES)
        view = memoryview(content)
        for at in range(0, len(content), _BLOCK_BYTES):
            block = view[at : at + _BLOCK_BYTES]
            if block != zeros[: len(block)]:
                file.seek(at)
                file.write(block)
        file.truncate(len(content))


def make_writable(folder: Path) -> None:
    """Make all folders below `folder` writable, so that their content can be removed."""
    folder.chmod(0o700)
    for root, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(root) / name
            if not path.is_symlink():
                path.chmod(0o700)


def same_as(image: Sequence[FileImage], folder: Path) -> str:
    """Return the first path that differs between image and folder; empty: they are the same."""
    wanted = {file.path: file for file in image}
    present = {
        str((Path(root) / name).relative_to(folder))
        for root, folders, files in os.walk(folder)
        for name in [*folders, *files]
    }
    for path in sorted(present ^ wanted.keys()):
        return path
    for path, file in wanted.items():
        if file.content is not None and (folder / path).read_bytes() != file.content:
            return path
    return ""


def packed(image: Sequence[FileImage]) -> list[CrashFile]:
    """Return the image as bug files keep it."""
    return [
        CrashFile(
            path=file.path,
            mode=file.mode,
            content=None if file.content is None else zlib.compress(file.content),
            target=file.target,
        )
        for file in image
    ]


def unpacked(files: Sequence[CrashFile]) -> list[FileImage]:
    """Return the image of a bug file; refuse paths that lead out of the image's folder."""
    image = []
    for file in files:
        if not file.path or Path(file.path).is_absolute() or ".." in Path(file.path).parts:
            raise NearfarError(f"the bug file names {file.path!r}, which is outside the image")
        try:
            content = None if file.content is None else zlib.decompress(file.content)
        except zlib.error as error:
            raise NearfarError(f"the content of {file.path} cannot be read: {error}") from error
        image.append(FileImage(file.path, file.mode, content, file.target))
    return image
