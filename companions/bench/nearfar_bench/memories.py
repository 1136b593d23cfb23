"""Memories for the content of a run: the words of `memory` and their requirements."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.base.folders import owned_folder

TMPFS = Path("/dev/shm")
MOUNTS = Path("/proc/self/mounts")
WORDS = (
    "volatile",
    "tmpfs",
    "tmpfs,msync",
    "tmpfs,noflush",
    "disk",
    "disk:",
    "file:",
    "devdax:",
    "every",
)
FORCE = "PMEM_IS_PMEM_FORCE"
"""Variable of libpmem: 1 flushes a file by instructions, as persistent memory; 0 by msync; if
unset, the kind of the file decides."""

NO_FLUSH = "PMEM_NO_FLUSH"
"""Variable of libpmem: 1 only fences and never flushes, as if the caches survived."""


@dataclass(frozen=True)
class BenchMemory:
    """A memory of this machine, named by a word of `memory`."""

    word: str
    folder: Path | None = None
    """Folder of the pool's file; None: volatile memory, or a device."""
    device: Path | None = None
    force: str | None = None
    """Value of `FORCE`; None: unset."""
    flushes: bool = True

    @property
    def is_pool(self) -> bool:
        """Whether content is in a pool."""
        return self.folder is not None or self.device is not None

    @contextmanager
    def pool(self) -> Iterator[list[str]]:
        """Yield the executable's arguments for a new pool, which is removed afterwards."""
        if self.device is not None:
            yield ["memory=pool", f"pool={self.device}"]
        elif self.folder is not None:
            with owned_folder("nearfar-bench-", str(self.folder)) as folder:
                yield ["memory=pool", f"pool={folder / 'pool'}"]
        else:
            yield ["memory=volatile"]

    def environment(self) -> dict[str, str]:
        """Return the environment of a run."""
        variables = {
            key: value for key, value in os.environ.items() if key not in (FORCE, NO_FLUSH)
        }
        if not self.flushes:
            variables[NO_FLUSH] = "1"
        if self.force is not None:
            variables[FORCE] = self.force
        return variables


def find_memory(word: str) -> BenchMemory:
    """Return the memory of `word`; refuse one that this machine does not have (MACHINE_LACKS)."""
    name, _, rest = word.partition(":")
    if word == "volatile":
        return BenchMemory(word)
    if word in ("tmpfs", "tmpfs,msync", "tmpfs,noflush"):
        return BenchMemory(
            word,
            folder=_folder(TMPFS, word),
            force="0" if "msync" in word else "1",
            flushes="noflush" not in word,
        )
    if name == "disk":
        folder = _folder(Path(rest or tempfile.gettempdir()), word)
        if file_system(folder) == "tmpfs":
            raise NearfarError(
                f"memory {word}: {folder} is in memory (tmpfs); name a folder on a disk, "
                "such as disk:/var/tmp",
                ExitCode.MACHINE_LACKS,
            )
        return BenchMemory(word, folder=folder, force="0")
    if name == "file" and rest:
        return BenchMemory(word, folder=_folder(Path(rest), word))
    if name == "devdax" and rest:
        if not Path(rest).is_char_device():
            raise NearfarError(
                f"memory {word}: {rest} is no device-DAX of this machine; `nearfar machine` lists "
                "them",
                ExitCode.MACHINE_LACKS,
            )
        return BenchMemory(word, device=Path(rest))
    hint = nearest(word, list(WORDS)) or f"; there are: {', '.join(WORDS)}"
    raise NearfarError(f"there is no memory {word!r} for bench{hint}")


def every(mounts: Path = MOUNTS, devices: Path = Path("/dev")) -> list[str]:
    """Return the words of all memories of this machine that can have pools."""
    words = ["tmpfs", "tmpfs,msync"]
    if file_system(Path(tempfile.gettempdir())) != "tmpfs":
        words.append("disk")
    for line in _lines(mounts):
        device, point, *_ = line.split(" ")
        if device.startswith("/dev/pmem"):
            words.append(f"file:{_path(point)}")
    words += [f"devdax:{path}" for path in sorted(devices.glob("dax*.*"))]
    return words


def expand(words: list[str]) -> list[str]:
    """Return `words` with `every` replaced by the memories of this machine."""
    expanded: list[str] = []
    for word in words:
        expanded += every() if word == "every" else [word]
    return list(dict.fromkeys(expanded))


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the type of the file system of `folder`; "" if unknown."""
    return _mount_of(folder, mounts)[0]


def has_dax(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Return whether the file system of `folder` is mounted with DAX."""
    return bool({"dax", "dax=always"} & set(_mount_of(folder, mounts)[1]))


def _mount_of(folder: Path, mounts: Path) -> tuple[str, list[str]]:
    """Return type and options of the file system of `folder`; "" and none if unknown."""
    where = folder.resolve()
    depth, file_system_type, options_there = -1, "", ""
    for line in _lines(mounts):
        _, point, kind, options, *_ = line.split(" ")
        mounted = _path(point)
        if (where == mounted or mounted in where.parents) and len(mounted.parts) >= depth:
            depth, file_system_type, options_there = len(mounted.parts), kind, options
    return file_system_type, options_there.split(",")


def _path(point: str) -> Path:
    r"""Return a mount point, in which the kernel writes blanks as \040."""
    return Path(point.replace("\\040", " "))


def _folder(folder: Path, word: str) -> Path:
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise NearfarError(
            f"memory {word}: cannot write to the folder {folder}", ExitCode.MACHINE_LACKS
        )
    return folder


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
