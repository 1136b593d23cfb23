"""What fences wait longer in far memory for lines that were flushed or stored past the caches.

A fence waits until the lines sent since the last one are durable: the latency of one persisted
write, and for each flushed line beyond the first what flushing is slower than writing back. The
lines themselves are among write-backs, whose bandwidth whatever model this is added to counts.

A published latency holds its machine's path, so what far memory adds is its own figure less that
of the local DRAM of the machine it was had on, of the same operation; what persisting takes in DRAM
here is in near time. Nothing of that makes far memory the faster one.

Of a file on a disk each range that a program flushes is synced by itself (libpmem calls msync for
each), fence or not: as many waits as there were syncs, where the profiled program synced; else
between one for each fence and one for each line, and the middle is taken. A sync waits for one
write of the drive. A specification gives that for one write at a time; a drive whose cache survives
a power cut can answer sooner, not before its turn at the rate that it sustains. A file system that
keeps a journal may add two writes in sequence, of a record and of its commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.devices import curves
from nearfar.devices.library import host_dram
from nearfar.documents.device import DeviceProfile, Operation, Pattern
from nearfar.predict.host import LOCAL
from nearfar.predict.model import Model, ModelLacksError
from nearfar.predict.traffic import FENCE, FLUSH, NT_LINE, Array, PhaseTraffic

if TYPE_CHECKING:
    from nearfar.predict.memory import MemoryCosts

OPERATIONS: tuple[Operation, ...] = ("clwb", "nt-store", "write")
"""What tells how long persisting takes, best first."""

PATTERNS: tuple[Pattern, ...] = ("random", "sequential")

SYNCED_LINES = 0.5
"""Of the lines beyond one a fence, what is synced apart in a file: the middle of none and all. Of
libpmemobj's transactions 8 syncs come of 10 fences and 9.5 lines (counted by `nearfar bench`)."""


JOURNAL_WRITES = 2
"""Of a sync that commits a journal: its record, and the block that makes it valid (ext4's jbd2,
xfs' log)."""


class Persisting:
    """The difference of fences' waits between the near and the far memory of a model."""

    def __init__(self, model: Model) -> None:
        if not counted(model.phase):
            raise ModelLacksError(
                "persist needs counts of flushes, fences and non-temporal stores, and nobody "
                f"counted them in phase {model.phase.name!r}"
            )
        self._model = model
        self._line_ns = self._fence_ns = 0.0
        self._scale = 1.0
        self._by_sync = False
        self._sync_ends_ns = (0.0, 0.0)
        self._said: list[str] = []
        if persists(model.phase) and not model.far.is_near:
            self._compare(model.near, model.far)

    def added_ns(self, moved: Array) -> Array:
        """Return what fences of `moved` (..., COLUMNS) wait longer far than near, ns."""
        return self._added_ns(moved, SYNCED_LINES if self._by_sync else 0.0)

    def ends_ns(self, moved: Array) -> list[float]:
        """Return the same at least and at most, where there are syncs: of their number, of what
        each waits for; ns.
        """
        if not self._by_sync:
            return []
        ends = zip((0.0, 1.0), self._sync_ends_ns, strict=True)
        return [float(self._added_ns(moved, share, end_ns)) for share, end_ns in ends]

    def remarks(self) -> list[str]:
        """Say what the waits were taken from."""
        return self._said

    def _added_ns(self, moved: Array, synced_lines: float, fence_ns: float | None = None) -> Array:
        lines = moved * self._model.doubt.lines
        fence_ns = self._fence_ns if fence_ns is None else fence_ns
        return np.asarray(self._scale * _wait_ns(lines, fence_ns, self._line_ns, synced_lines))

    def _compare(self, near: MemoryCosts, far: MemoryCosts) -> None:
        host = host_dram(far.device) if near.device.technology in LOCAL else None
        beside = host or near.device
        far_ns, near_ns = persisted_ns(far.device, beside)
        if far_ns is None:
            raise ModelLacksError(
                f"persist needs the latency of a persisted write, and {far.device.name} gives "
                "none: add [[latency]] with operation = 'clwb' to a copy of it"
            )
        least_ns = 0.0 if host is not None or near_ns is None else -np.inf
        said = f"persist: a fence waits {far_ns:.0f} ns for one line in {far.device.name} and "
        if near_ns is None:
            near_ns = near.latency_ns
            said += (
                f"at most {near_ns:.0f} ns, a read's latency, in {beside.name}, which gives no "
                "latency of a persisted write"
            )
        else:
            said += f"{near_ns:.0f} ns in {beside.name}"
        doubt = self._model.doubt
        self._by_sync = far.device.technology == "file"
        if self._by_sync:
            said += (
                "; each flushed range is a sync by itself, from one a fence to one a line, which "
                "the program waits for off the processor"
            )
        self._said = [said]
        self._fence_ns = max(far_ns * doubt.far_latency - near_ns, least_ns)
        if self._by_sync:
            self._sync_ends_ns = sync_ends_ns(far.device, self._fence_ns)
        beyond_ns = flushed_beyond_ns(beside)
        self._line_ns = max(
            flushed_beyond_ns(far.device) / doubt.far_bandwidth - beyond_ns, least_ns
        )
        # Where it ran faster than its fences allow, the figures are too high alike.
        waited_ns = float(_wait_ns(self._model.total, near_ns, beyond_ns))
        self._scale = min(1.0, self._model.near_time_ns / max(waited_ns, 1e-9))


def counted(phase: PhaseTraffic) -> bool:
    """Return whether a phase's flushes are known, be they none."""
    return phase.flushes_counted or persists(phase)


def persists(phase: PhaseTraffic) -> bool:
    """Return whether a phase flushes or stores past the caches."""
    return float(phase.total[[FLUSH, NT_LINE]].sum()) > 0.0


def persisted_ns(far: DeviceProfile, near: DeviceProfile) -> tuple[float | None, float | None]:
    """Return both devices' latencies of one persisted line, ns, of the same operation if there is
    one; None: unknown.
    """
    found = [
        (_latency_ns(far, operation), _latency_ns(near, operation)) for operation in OPERATIONS
    ]
    for far_ns, near_ns in found:
        if far_ns is not None and near_ns is not None:
            return far_ns, near_ns
    return (
        next((ns for ns, _ in found if ns is not None), None),
        next((ns for _, ns in found if ns is not None), None),
    )


def flushed_beyond_ns(device: DeviceProfile) -> float:
    """Return what one of many flushed lines takes beyond the bandwidth of writing it, ns."""
    flushed, written = (
        LINE_BYTES / curves.bandwidth(device, operation).value_gb_per_s
        for operation in ("clwb", "nt-store")
    )
    return max(0.0, flushed - written)


def sync_ends_ns(drive: DeviceProfile, write_ns: float) -> tuple[float, float]:
    """Return what a sync waits at least and at most where a write takes `write_ns`, ns: the same
    where it was measured, which was with cache and journal.
    """
    alone = curves.idle_latency_ns(drive, "write", "sequential")
    if alone is None or alone.how == "measured":
        return write_ns, write_ns
    # A log's pages are written again and again, neither at random nor on: the sooner turn counts.
    turn_ns = min(
        drive.granularity_bytes / curves.bandwidth(drive, "clwb", pattern).value_gb_per_s
        for pattern in PATTERNS
    )
    return min(turn_ns, write_ns), write_ns + JOURNAL_WRITES * alone.value_ns


def _latency_ns(device: DeviceProfile, operation: Operation) -> float | None:
    for pattern in PATTERNS:
        figure = curves.idle_latency_ns(device, operation, pattern)
        if figure is not None:
            return figure.value_ns
    return None


def _wait_ns(lines: Array, fence_ns: float, line_ns: float, synced_lines: float = 0.0) -> Array:
    sent = lines[..., FLUSH] + lines[..., NT_LINE]
    # A fence that nothing was flushed before waits for nothing.
    waits = np.minimum(lines[..., FENCE], sent)
    waits = waits + synced_lines * (sent - waits)
    beyond = np.minimum(lines[..., FLUSH], sent - waits)
    return np.asarray(waits * fence_ns + beyond * line_ns)
