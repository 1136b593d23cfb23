"""Sizes: how much memory a measurement may use, and how large its regions are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.memories.topology import Topology

USABLE_SHARE = 0.4
"""Share of the available memory that a measurement uses; the rest is for other programs."""

CACHES_PER_REGION = 8
"""Ratio of the largest region to the last-level cache: a random line hits the cache at most 1 time
in 8, and never in the order of a chase."""

QUICK_CACHES_PER_REGION = 5
"""The same ratio for a short measurement, because mapping and linking takes a second a GiB or more.
The next smaller region, a quarter of it, still exceeds the cache and needs no full warm-up."""

MIN_REGION_BYTES = 4 << 20
"""Smallest useful largest region: smaller ones fit in second-level caches."""

MIN_AVAILABLE_BYTES = 256 << 20
MIN_AVAILABLE_SHARE = 0.02
"""Memory that must stay available during a measurement, the smaller of the two: with less the
kernel drops its caches and swaps."""


@dataclass(frozen=True)
class Room:
    """Region sizes that fit in the usable memory."""

    largest_bytes: int
    """Largest region of a chase."""
    buffer_bytes: int
    """Size of the buffer that all threads of a bandwidth kernel share."""
    page_kinds: int
    buffers: int = 1
    """Number of such buffers: two where a contending core has its own."""

    @property
    def total_bytes(self) -> int:
        """Memory used: regions halve or quarter, so they sum to less than twice the largest."""
        return 2 * self.largest_bytes * self.page_kinds + self.buffers * self.buffer_bytes


def plan_room(
    machine: Topology,
    available_bytes: int,
    wanted_bytes: int,
    page_kinds: int,
    buffers: int = 1,
    *,
    caches: int = CACHES_PER_REGION,
) -> Room:
    """Return the sizes that fit in `available_bytes`.

    `wanted_bytes` sets the largest region and is refused if it does not fit. If it is 0, sizes
    follow from the caches, and shrink where memory is short.
    """
    largest = wanted_bytes or caches * machine.llc_bytes
    # Threads share the buffer, and together they own all caches.
    buffer = wanted_bytes or max(largest, CACHES_PER_REGION // 2 * machine.total_llc_bytes)
    wanted = Room(_round_to_pages(largest), _round_to_pages(buffer), page_kinds, buffers)
    if wanted.total_bytes <= available_bytes:
        return wanted
    if wanted_bytes:
        raise NearfarError(
            f"regions up to {format_bytes(wanted_bytes)} need {format_bytes(wanted.total_bytes)} "
            f"in total; {format_bytes(available_bytes)} may be used ({USABLE_SHARE:.0%} of the "
            "available memory): choose a smaller --largest",
            ExitCode.MACHINE_LACKS,
        )
    scale = available_bytes / wanted.total_bytes
    room = Room(
        _round_to_pages(int(largest * scale)),
        _round_to_pages(int(buffer * scale)),
        page_kinds,
        buffers,
    )
    if room.largest_bytes < MIN_REGION_BYTES:
        raise NearfarError(
            f"too little memory to measure: {format_bytes(available_bytes)} may be used "
            f"({USABLE_SHARE:.0%} of the available memory); end other programs, or free space for "
            "file:",
            ExitCode.MACHINE_LACKS,
        )
    return room


def available_bytes(proc: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> int:
    """Return the bytes available without swapping, within this process's control groups."""
    available = _meminfo_bytes(proc, "MemAvailable")
    for limit, used in _group_limits(proc, sysfs):
        available = min(available, max(limit - used, 0))
    return available


def total_bytes(proc: Path = Path("/proc")) -> int:
    """Return all memory of the machine."""
    return _meminfo_bytes(proc, "MemTotal")


def refuse_to_swap(proc: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> None:
    """Raise NearfarError before the machine swaps, where other programs need the memory."""
    left = available_bytes(proc, sysfs)
    least = min(MIN_AVAILABLE_BYTES, int(MIN_AVAILABLE_SHARE * _meminfo_bytes(proc, "MemTotal")))
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
        pass  # a kernel without control groups; the root is read anyway
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


def _round_to_pages(size_bytes: int) -> int:
    """Round down to 2 MiB, or to 4 KiB below that."""
    page = 2 << 20 if size_bytes >= 2 << 20 else 4096
    return max(size_bytes // page * page, 4096)
