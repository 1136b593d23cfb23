"""What the kernel says of another process' memory: its bytes, its mappings, its pages' nodes."""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.run import layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOVE_PAGES = 279
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
"""asm/unistd_64.h, asm-generic/unistd.h."""
MOST_NODES = 1024
"""Linux can be configured for no more."""
MPOL_MF_MOVE = 2
_BATCH = 1 << 16
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
"""What the filters of containers answer."""

_MAPPING = re.compile(
    r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ ([0-9]+)(?: +(.*))?", re.ASCII
)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Mapping:
    """One mapping of a process."""

    begin: int
    end: int
    protection: str
    offset: int
    path: str
    """Empty for anonymous memory; ``[heap]``, ``[stack]``; the file's."""

    @property
    def is_file(self) -> bool:
        """Tell whether a file or device is behind it."""
        return self.path.startswith("/")


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Return bytes of another process' memory; raises OSError where that is not allowed."""
    buffer = ctypes.create_string_buffer(size)
    done = 0
    while done < size:
        # Two thousand mebibytes at most in one call; and pages that are not there end one.
        local = _Vector(ctypes.addressof(buffer) + done, min(size - done, 1 << 28))
        remote = _Vector(address + done, local.length)
        got = _libc.process_vm_readv(
            pid, ctypes.byref(local), ctypes.c_ulong(1), ctypes.byref(remote), ctypes.c_ulong(1),
            ctypes.c_ulong(0),
        )  # fmt: skip
        if got <= 0:
            number = ctypes.get_errno() or errno.EFAULT
            if number in REFUSALS:
                return _read_file(pid, address, size)
            raise OSError(number, os.strerror(number))
        done += got
    return buffer.raw


def _read_file(pid: int, address: int, size: int) -> bytes:
    """Likewise, where containers refuse the call: their filters know calls, not files."""
    parts = []
    file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while size:
            part = os.pread(file, min(size, 1 << 28), address)
            if not part:
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
            parts.append(part)
            address, size = address + len(part), size - len(part)
    finally:
        os.close(file)
    return b"".join(parts)


def mappings(pid: int) -> list[Mapping]:
    """Return a process' mappings in the order of their addresses."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
        match = _MAPPING.match(line)
        if match is not None:
            begin, end, protection, offset, _, path = match.groups()
            found.append(
                Mapping(int(begin, 16), int(end, 16), protection, int(offset, 16), path or "")
            )
    return found


def page_nodes(pid: int, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return each page's node, or minus the error number; raises OSError if it may not be asked."""
    import numpy as np

    status = np.full(len(addresses), -errno.ENOENT, np.int32)
    for begin in range(0, len(addresses), _BATCH):
        pages = np.ascontiguousarray(addresses[begin : begin + _BATCH], np.uint64)
        part = np.zeros(len(pages), np.int32)
        _call(pid, pages, None, part, 0)
        status[begin : begin + len(pages)] = part
    return status


def move_pages(pid: int, addresses: NDArray[np.uint64], node: int) -> NDArray[np.int32]:
    """Move pages to `node`; return where each is then, or minus the error number."""
    import numpy as np

    pages = np.ascontiguousarray(addresses, np.uint64)
    status = np.full(len(pages), -errno.EBUSY, np.int32)
    _call(pid, pages, np.full(len(pages), node, np.int32), status, MPOL_MF_MOVE)
    return status


def _call(
    pid: int,
    pages: NDArray[np.uint64],
    nodes: NDArray[np.int32] | None,
    status: NDArray[np.int32],
    flags: int,
) -> None:
    result = _libc.syscall(
        ctypes.c_long(MOVE_PAGES), ctypes.c_int(pid), ctypes.c_ulong(len(pages)),
        ctypes.c_void_p(pages.ctypes.data),
        ctypes.c_void_p(None if nodes is None else nodes.ctypes.data),
        ctypes.c_void_p(status.ctypes.data), ctypes.c_int(flags),
    )  # fmt: skip
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def set_mempolicy(mode: int, nodes: Sequence[int]) -> None:
    """Set this thread's memory policy, which its children inherit; raises OSError.

    `mode` is one of linux/mempolicy.h, see `nearfar.run.policies`; the default takes no nodes.
    """
    mask = (ctypes.c_ulong * (MOST_NODES // 64))()
    for node in nodes:
        mask[node // 64] |= 1 << (node % 64)
    result = _libc.syscall(
        ctypes.c_long(SET_MEMPOLICY[os.uname().machine]), ctypes.c_int(mode),
        ctypes.byref(mask) if nodes else None, ctypes.c_ulong(MOST_NODES if nodes else 0),
    )  # fmt: skip
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def anonymous_bytes(pid: int, known: Sequence[range]) -> int:
    """Return a process' anonymous memory that is there, without blocks and mappings at `known`.

    0 if it cannot be read.
    """
    try:
        text = Path(f"/proc/{pid}/smaps").read_text(errors="replace")
    except OSError:
        return 0
    total = 0
    counts = False
    for line in text.splitlines():
        if match := _MAPPING.match(line):
            begin = int(match[1], 16)
            ours = layout.FIRST_ADDRESS <= begin < layout.END_ADDRESS
            counts = not ours and not any(begin in one for one in known)
        elif counts and line.startswith("Anonymous:"):
            total += int(line.split()[1]) << 10
    return total


def resident_anonymous_bytes(pid: int) -> int:
    """Return all anonymous memory of a process that is there; 0 if that cannot be read.

    Counted by the kernel as it goes, so that asking costs a large process nothing.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0
    match = re.search(r"^RssAnon:\s+([0-9]+) kB$", text, re.MULTILINE)
    return int(match[1]) << 10 if match else 0


def descendants(pid: int) -> Sequence[int]:
    """Return a process and all it started, directly or not, as far as they live."""
    found = [pid]
    for one in found:
        try:
            tasks = sorted(Path(f"/proc/{one}/task").iterdir())
            for task in tasks:
                found.extend(int(word) for word in (task / "children").read_text().split())
        except OSError:
            continue
    return found
