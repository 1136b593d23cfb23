"""Another process' memory through the kernel: its bytes, mappings and the nodes of its pages."""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearfar.machine import syscalls
from nearfar.run import layout

MAX_NODES = 1024
"""Most nodes that Linux can be configured for."""
MPOL_MF_MOVE = 2
_MODE_BITS = 0xFF
"""Bits of a policy's mode without its flags (linux/mempolicy.h)."""
_MADV_PAGEOUT = 21
_VECTORS = 1024
"""Most ranges of one call (IOV_MAX)."""
_PAGEMAP_PAGES = 4096
"""Pages whose words are read at once."""
_BATCH = 1 << 16
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
"""Errors from the system call filters of containers."""

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
    """The file's path, ``[heap]`` or ``[stack]``; empty for anonymous memory."""

    @property
    def is_file(self) -> bool:
        """Return whether it maps a file or device."""
        return self.path.startswith("/")


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Return bytes of another process' memory; raises OSError where that is not allowed."""
    buffer = ctypes.create_string_buffer(size)
    done = 0
    while done < size:
        # One call reads at most 2000 MiB, and ends at a page that is not present.
        local = _Vector(ctypes.addressof(buffer) + done, min(size - done, 1 << 28))
        remote = _Vector(address + done, local.length)
        count = _libc.process_vm_readv(
            pid, ctypes.byref(local), ctypes.c_ulong(1), ctypes.byref(remote), ctypes.c_ulong(1),
            ctypes.c_ulong(0),
        )  # fmt: skip
        if count <= 0:
            number = ctypes.get_errno() or errno.EFAULT
            if number in REFUSALS:
                return _read_file(pid, address, size)
            raise OSError(number, os.strerror(number))
        done += count
    return buffer.raw


def read_text(pid: int, address: int) -> str:
    """Return the text at an address of another process, up to its zero byte."""
    text = b""
    while b"\0" not in text:
        # Never beyond a page: the next one may not exist.
        size = layout.PAGE - (address + len(text)) % layout.PAGE
        text += read_memory(pid, address + len(text), size)
    return text.partition(b"\0")[0].decode(errors="replace")


def _read_file(pid: int, address: int, size: int) -> bytes:
    """Return the bytes from /proc/PID/mem, for containers that filter the system call."""
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
    rows = []
    for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
        match = _MAPPING.match(line)
        if match is not None:
            begin, end, protection, offset, _, path = match.groups()
            rows.append(
                Mapping(int(begin, 16), int(end, 16), protection, int(offset, 16), path or "")
            )
    return rows


def page_nodes(pid: int, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return each page's node, or minus its error number; raises OSError where not allowed."""
    status = np.full(len(addresses), -errno.ENOENT, np.int32)
    for begin in range(0, len(addresses), _BATCH):
        pages = np.ascontiguousarray(addresses[begin : begin + _BATCH], np.uint64)
        part = np.zeros(len(pages), np.int32)
        _move_pages(pid, pages, None, part, 0)
        status[begin : begin + len(pages)] = part
    return status


def move_pages(pid: int, addresses: NDArray[np.uint64], node: int) -> NDArray[np.int32]:
    """Move pages to `node`; return each page's node then, or minus its error number."""
    pages = np.ascontiguousarray(addresses, np.uint64)
    status = np.full(len(pages), -errno.EBUSY, np.int32)
    _move_pages(pid, pages, np.full(len(pages), node, np.int32), status, MPOL_MF_MOVE)
    return status


def _move_pages(
    pid: int,
    pages: NDArray[np.uint64],
    nodes: NDArray[np.int32] | None,
    status: NDArray[np.int32],
    flags: int,
) -> None:
    _call(
        "move_pages", ctypes.c_int(pid), ctypes.c_ulong(len(pages)),
        ctypes.c_void_p(pages.ctypes.data),
        ctypes.c_void_p(None if nodes is None else nodes.ctypes.data),
        ctypes.c_void_p(status.ctypes.data), ctypes.c_int(flags),
    )  # fmt: skip


def _call(name: str, *arguments: object) -> int:
    """Return the result of a system call; raises OSError if it fails."""
    result, error = syscalls.call(name, *arguments)
    if error:
        raise OSError(error, os.strerror(error))
    return result


def page_out(pid: int, ranges: Sequence[tuple[int, int]]) -> int:
    """Ask the kernel to move a process' pages in `ranges` of (address, bytes) out to swap.

    Return the bytes that the kernel processed; raises OSError where the call is not allowed. Locked
    pages stay.
    """
    process = os.pidfd_open(pid)
    taken = 0
    try:
        for begin in range(0, len(ranges), _VECTORS):
            part = ranges[begin : begin + _VECTORS]
            vectors = (_Vector * len(part))(*(_Vector(*each) for each in part))
            taken += _call(
                "process_madvise", ctypes.c_int(process), vectors, ctypes.c_ulong(len(part)),
                ctypes.c_int(_MADV_PAGEOUT), ctypes.c_uint(0),
            )  # fmt: skip
    finally:
        os.close(process)
    return taken


def page_states(pid: int, addresses: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Return each page's state: 1 in main memory, 2 in swap, 0 neither; raises OSError."""
    states = np.zeros(len(addresses), np.int8)
    pages = addresses // np.uint64(layout.PAGE)
    blocks = pages // np.uint64(_PAGEMAP_PAGES)
    with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as file:
        for block in np.unique(blocks).tolist():
            file.seek(block * _PAGEMAP_PAGES * 8)
            words = np.frombuffer(file.read(_PAGEMAP_PAGES * 8), np.uint64)
            own = np.flatnonzero(blocks == block)
            at = (pages[own] - np.uint64(block * _PAGEMAP_PAGES)).astype(np.int64)
            inside = at < len(words)
            flags = words[at[inside]]
            present = (flags >> np.uint64(63)) & np.uint64(1)
            swapped = (flags >> np.uint64(62)) & np.uint64(1)
            states[own[inside]] = np.where(present == 1, 1, 2 * swapped)
    return states


def set_mempolicy(mode: int, nodes: Sequence[int]) -> None:
    """Set this thread's memory policy, which its children inherit; raises OSError.

    `mode` is from linux/mempolicy.h, see `nearfar.run.policies`; the default has no nodes.
    """
    mask = (ctypes.c_ulong * (MAX_NODES // 64))()
    for node in nodes:
        mask[node // 64] |= 1 << (node % 64)
    _call(
        "set_mempolicy", ctypes.c_int(mode), ctypes.byref(mask) if nodes else None,
        ctypes.c_ulong(MAX_NODES if nodes else 0),
    )  # fmt: skip


def own_policy() -> tuple[int, set[int]]:
    """Return mode and nodes of this thread's memory policy (numactl's); no policy: 0, no nodes."""
    mask = (ctypes.c_ulong * (MAX_NODES // 64))()
    mode = ctypes.c_int()
    _, error = syscalls.call(
        "get_mempolicy", ctypes.byref(mode), ctypes.byref(mask), ctypes.c_ulong(MAX_NODES), None,
        ctypes.c_ulong(0),
    )  # fmt: skip
    if error:
        return 0, set()
    nodes = {node for node in range(MAX_NODES) if mask[node // 64] >> (node % 64) & 1}
    return mode.value & _MODE_BITS, nodes


def anonymous_bytes(pid: int, known: Sequence[range]) -> int:
    """Return a process' present anonymous bytes outside of blocks and of the `known` mappings.

    0 if they cannot be read.
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
            in_block = layout.FIRST_ADDRESS <= begin < layout.END_ADDRESS
            counts = not in_block and not any(begin in mapping for mapping in known)
        elif counts and line.startswith("Anonymous:"):
            total += int(line.split()[1]) << 10
    return total


def resident_anonymous_bytes(pid: int) -> int:
    """Return all present anonymous bytes of a process; 0 if they cannot be read.

    The kernel keeps this count, so reading it costs a large process nothing.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0
    match = re.search(r"^RssAnon:\s+([0-9]+) kB$", text, re.MULTILINE)
    return int(match[1]) << 10 if match else 0


def locked_bytes(pid: int) -> int:
    """Return the bytes of present pages that a process has locked; 0 if they cannot be read."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    match = re.search(r"^Locked:\s+([0-9]+) kB$", text, re.MULTILINE)
    return int(match[1]) << 10 if match else 0


def descendants(pid: int) -> Sequence[int]:
    """Return a process and all its descendants that still run."""
    pids = [pid]
    for parent in pids:
        try:
            tasks = sorted(Path(f"/proc/{parent}/task").iterdir())
            for task in tasks:
                pids.extend(int(word) for word in (task / "children").read_text().split())
        except OSError:
            continue
    return pids
