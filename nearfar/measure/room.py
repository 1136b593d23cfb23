"""How much memory a measurement may take, and how large its regions get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.memories.topology import Topology

SHARE = 0.4
"""Of the available memory; the rest is left to whoever else runs here."""

CACHES_PER_REGION = 8
"""The largest region over the last-level cache: a random line is in the cache 1 time in 8 at
most, and never in the order in which a chase visits them."""

SMALLEST_USEFUL_BYTES = 4 << 20
"""Regions below this fit in second-level caches: nothing would be learnt of the memory."""

LEAST_LEFT_BYTES = 256 << 20
LEAST_LEFT_SHARE = 0.02
"""Memory that must stay available while we measure, the less of the two: beyond it the kernel
begins to drop its caches and to swap."""


@dataclass(frozen=True)
class Room:
    """Sizes that fit."""

    largest_bytes: int
    """Largest region that is chased."""
    buffer_bytes: int
    """What bandwidth kernels run over, all threads together."""
    page_kinds: int
    buffers: int = 1
    """Two where a contending core has one of its own."""

    @property
    def total_bytes(self) -> int:
        """Memory taken: regions halve or quarter, so they sum to less than twice the largest."""
        return 2 * self.largest_bytes * self.page_kinds + self.buffers * self.buffer_bytes


def plan_room(
    machine: Topology, available_bytes: int, wanted_bytes: int, page_kinds: int, buffers: int = 1
) -> Room:
    """Size regions: as `wanted_bytes` (0: by the caches), less where memory is short."""
    largest = wanted_bytes or CACHES_PER_REGION * machine.llc_bytes
    # Threads share the buffer, and together they own all caches.
    buffer = wanted_bytes or max(largest, CACHES_PER_REGION // 2 * machine.total_llc_bytes)
    wanted = Room(_whole(largest), _whole(buffer), page_kinds, buffers)
    if wanted.total_bytes <= available_bytes:
        return wanted
    if wanted_bytes:
        raise NearfarError(
            f"regions up to {format_bytes(wanted_bytes)} take {format_bytes(wanted.total_bytes)} "
            f"together, and {format_bytes(available_bytes)} may be used "
            f"({SHARE:.0%} of what is available): choose a smaller --largest",
            ExitCode.MACHINE_LACKS,
        )
    scale = available_bytes / wanted.total_bytes
    room = Room(_whole(int(largest * scale)), _whole(int(buffer * scale)), page_kinds, buffers)
    if room.largest_bytes < SMALLEST_USEFUL_BYTES:
        raise NearfarError(
            f"too little memory to measure: {format_bytes(available_bytes)} may be used "
            f"({SHARE:.0%} of what is available); end other programs, or free space for a file:",
            ExitCode.MACHINE_LACKS,
        )
    return room


def available_bytes(proc: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> int:
    """Return what the kernel says can be had without swapping, within our control groups."""
    available = _meminfo_bytes(proc, "MemAvailable")
    for limit, used in _group_limits(proc, sysfs):
        available = min(available, max(limit - used, 0))
    return available


def total_bytes(proc: Path = Path("/proc")) -> int:
    """Return all memory of the machine."""
    return _meminfo_bytes(proc, "MemTotal")


def refuse_to_swap(proc: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> None:
    """Stop where others came to need the memory that we hold, before the machine swaps."""
    left = available_bytes(proc, sysfs)
    least = min(LEAST_LEFT_BYTES, int(LEAST_LEFT_SHARE * _meminfo_bytes(proc, "MemTotal")))
    if left < least:
        raise NearfarError(
            f"stopped before the machine would swap: other programs left {format_bytes(left)} of "
            "memory; end them, or choose a smaller --largest",
            ExitCode.MACHINE_LACKS,
        )


def _meminfo_bytes(proc: Path, key: str) -> int:
    for line in (proc / "meminfo").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def _group_limits(proc: Path, sysfs: Path) -> Iterator[tuple[int, int]]:
    """Yield (limit, used) bytes of this process's control group and those around it."""
    root = sysfs / "fs/cgroup"
    groups = {"": Path("/"), "memory": Path("/")}
    try:
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                groups[controller] = Path(path)
    except (OSError, ValueError):
        pass  # a kernel without control groups; the root is looked at all the same
    for base, own, limit_name, used_name in (
        (root, groups[""], "memory.max", "memory.current"),
        (root / "memory", groups["memory"], "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for group in (own, *own.parents):
            folder = base / str(group).lstrip("/")
            try:
                limit = (folder / limit_name).read_text().strip()
                if limit != "max":
                    yield int(limit), int((folder / used_name).read_text())
            except (OSError, ValueError):
                continue  # the root group, or no memory controller: no limit


def _whole(size_bytes: int) -> int:
    """Round down to 2 MiB where that leaves something, else to 4 KiB."""
    page = 2 << 20 if size_bytes >= 2 << 20 else 4096
    return max(size_bytes // page * page, 4096)
