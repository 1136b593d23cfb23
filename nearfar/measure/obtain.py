"""Mapping, placing and populating of memory for a spec, and checks of what was obtained."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.measure.native import _measure
from nearfar.memories.checks import check_devdax
from nearfar.memories.spec import PAGE_BYTES, MemorySpec, Pages
from nearfar.memories.topology import Topology

if TYPE_CHECKING:
    from nearfar._measure import Memory

SAMPLED_PAGES = 64
"""Pages whose node is checked, spread over the memory: they show a partly failed binding."""

Source = Callable[[int, Pages], "Memory"]
"""Maker of memory with this size in bytes and these pages."""


def source_of(spec: MemorySpec, topology: Topology) -> Source:
    """Return a maker of memory of `spec`; refuse a memory that this machine lacks."""
    if spec.kind == "file":
        assert spec.path is not None
        if not spec.path.exists():
            # Its folder would be measured instead: for an unmounted pmem, the disk below.
            raise NearfarError(
                f"there is no {spec.path}: name a folder or file on the memory to measure, and "
                "mount it first",
                ExitCode.MACHINE_LACKS,
            )
        return lambda size_bytes, _pages: _file(spec, size_bytes)
    if spec.kind == "devdax":
        assert spec.path is not None
        return _DaxDevice(spec.path).take
    node = spec.node
    if node is not None and node not in topology.nodes:
        there = ", ".join(map(str, topology.nodes)) or "none (the kernel has no NUMA support)"
        raise NearfarError(
            f"this machine has no NUMA node {node}; it has: {there}", ExitCode.MACHINE_LACKS
        )
    if node is None and len(topology.nodes) > 1:
        node = topology.node  # near memory is that of the node whose CPUs measure
    return lambda size_bytes, pages: _anonymous(size_bytes, pages, node)


def huge_share(memory: Memory, smaps: Path = Path("/proc/self/smaps")) -> float:
    """Return the share of the memory's present pages that have 2 MiB, as smaps reports."""
    first, last = memory.address, memory.address + memory.size_bytes
    huge_kib = present_kib = 0
    inside = False
    for line in smaps.read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            # Neighbouring mappings of one kind may be merged into one.
            inside = int(match[1], 16) < last and int(match[2], 16) > first
        elif inside:
            key, _, value = line.partition(":")
            if key == "Rss":
                present_kib += int(value.split()[0])
            elif key in ("AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"):
                huge_kib += int(value.split()[0])
            elif key in ("Private_Hugetlb", "Shared_Hugetlb"):
                # Reserved huge pages are not in Rss.
                huge_kib += int(value.split()[0])
                present_kib += int(value.split()[0])
    return huge_kib / present_kib if present_kib else 0.0


def is_direct(spec: MemorySpec) -> bool:
    """Return whether a ``file:`` spec's file system maps its medium directly (DAX)."""
    assert spec.path is not None
    with _temporary_file(spec.path, 1 << 20) as descriptor:
        try:
            _measure.Memory.file(descriptor, 4096, direct=True)
        except OSError:
            return False
    return True


def file_system_bytes(path: Path) -> tuple[int, int]:
    """Return (total, available) bytes of the file system of `path`."""
    try:
        status = os.statvfs(_folder(path))
    except OSError as error:
        raise _no_file(path, error) from error
    return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize


def _anonymous(size_bytes: int, pages: Pages, node: int | None) -> Memory:
    try:
        memory = _measure.Memory.anonymous(size_bytes, pages, node)
        where = memory.nodes(SAMPLED_PAGES) if node is not None else []
    except OSError as error:
        raise _no_memory(size_bytes, pages, node, error) from error
    elsewhere = sorted({place for place in where if place != node})
    if elsewhere:
        raise NearfarError(
            f"requested memory of node {node}, but pages are on {elsewhere}: free memory on node "
            f"{node}",
            ExitCode.MACHINE_LACKS,
        )
    return memory


def _no_memory(size_bytes: int, pages: Pages, node: int | None, error: OSError) -> NearfarError:
    what = f"{format_bytes(size_bytes)} of memory" + ("" if node is None else f" on node {node}")
    if pages in ("2m", "1g") and error.errno in (errno.ENOMEM, errno.EFAULT, errno.EINVAL):
        count = -(-size_bytes // PAGE_BYTES[pages])
        size = "2 MiB" if pages == "2m" else "1 GiB"
        how = (
            "sysctl vm.nr_hugepages=N"
            if pages == "2m"
            else "echo N > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
        )
        return NearfarError(
            f"there are too few reserved {size} pages for {what}: reserve at least {count} more "
            f"({how}), or use pages=thp",
            ExitCode.MACHINE_LACKS,
        )
    if error.errno in (errno.EPERM, errno.ENOSYS):
        return NearfarError(
            f"may not place {what}: {error.strerror}; a container needs CAP_SYS_NICE for it "
            "(docker run --cap-add SYS_NICE)",
            ExitCode.MACHINE_LACKS,
        )
    return NearfarError(f"cannot get {what}: {error.strerror}", ExitCode.MACHINE_LACKS)


class _DaxDevice:
    """A DAX device whose parts are mapped one behind the other; its content is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes, self._align_bytes = check_devdax(path)
        self._used_bytes = 0

    def take(self, size_bytes: int, _pages: Pages) -> Memory:
        """Map the next part; a released part is not reused."""
        align = self._align_bytes
        rounded = -(-size_bytes // align) * align
        if self._used_bytes + rounded > self._size_bytes:
            raise NearfarError(
                f"{self._path} has {format_bytes(self._size_bytes)}, "
                f"{format_bytes(self._used_bytes)} are in use and {format_bytes(rounded)} more are "
                "needed: choose a smaller --largest",
                ExitCode.MACHINE_LACKS,
            )
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except OSError as error:
            raise self._refused(error) from error
        try:
            memory = _measure.Memory.file(descriptor, size_bytes, False, self._used_bytes, align)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            os.close(descriptor)
        self._used_bytes += rounded
        return memory

    def _refused(self, error: OSError) -> NearfarError:
        hint = {
            errno.EBUSY: "another program uses it: end that, or choose another device",
            errno.EINVAL: f"a mapping must be a multiple of {format_bytes(self._align_bytes)}",
            errno.EACCES: "run as root, or get access with setfacl",
            errno.EPERM: "run as root, or get access with setfacl",
        }.get(error.errno or 0, "see `daxctl list`")
        return NearfarError(
            f"cannot map {self._path}: {error.strerror}; {hint}", ExitCode.MACHINE_LACKS
        )


def _file(spec: MemorySpec, size_bytes: int) -> Memory:
    assert spec.path is not None
    with _temporary_file(spec.path, size_bytes) as descriptor:
        try:
            return _measure.Memory.file(descriptor, size_bytes, direct=True)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise _no_file(spec.path, error) from error
        try:
            return _measure.Memory.file(descriptor, size_bytes, direct=False)
        except OSError as error:
            raise _no_file(spec.path, error) from error


@contextlib.contextmanager
def _temporary_file(path: Path, size_bytes: int) -> Iterator[int]:
    """Yield a descriptor of a nameless file of `size_bytes` in the folder.

    Without a name the file vanishes with its last mapping, however this process ends.
    """
    try:
        descriptor = _nameless(_folder(path))
    except OSError as error:
        raise _no_file(path, error) from error
    try:
        try:
            os.posix_fallocate(descriptor, 0, size_bytes)
        except OSError as error:
            raise _no_file(path, error) from error
        yield descriptor
    finally:
        os.close(descriptor)


def _nameless(folder: Path) -> int:
    """Return a descriptor of an empty file without a name, so that none is left behind."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT):
            raise
    # On a file system without nameless files it has a name for a moment.
    descriptor, name = tempfile.mkstemp(prefix=".nearfar-measure-", dir=folder)
    Path(name).unlink()
    return descriptor


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _no_file(path: Path, error: OSError) -> NearfarError:
    if error.errno == errno.ENOENT and _folder(path).is_dir():
        return NearfarError(
            f"cannot create a file in {_folder(path)} (a file system of the kernel): name a folder "
            "on the memory to measure",
            ExitCode.MACHINE_LACKS,
        )
    hint = {
        errno.ENOENT: "the folder does not exist",
        errno.ENOTDIR: "its parent is not a folder",
        errno.ENOSPC: "free some space or choose a smaller --largest",
        errno.EACCES: "choose a folder you may write to",
        errno.EROFS: "the file system is read-only",
    }.get(error.errno or 0, error.strerror or "unknown")
    return NearfarError(
        f"cannot map a file in {_folder(path)}: {error.strerror}; {hint}", ExitCode.MACHINE_LACKS
    )
