"""The additional time that fences wait in far memory, for what was flushed or stored past caches.

`PersistWaits`: a fence waits until all lines sent since the last fence are durable. It waits the
latency of one persisted write and, for each further flushed line, the excess of a flush over a
write-back. The lines themselves are among write-backs, whose bandwidth the model counts. A
published latency includes its machine's path, so far memory adds the difference between its figure
and that of the same machine's local DRAM, for the same operation; persisting in this machine's DRAM
is part of near time. The difference never makes far memory the faster one.

For a file on a disk, each range that a program flushes is synced separately (libpmem calls msync
for each), with or without a fence. If the profiled program synced, there are as many waits as
syncs. Otherwise there are between one wait per fence and one per line; the middle is used. A sync
waits for one write of the drive, whose time a specification gives. A drive whose cache survives a
power cut can answer sooner, but not faster than its sustained rate. A file system with a journal
may add two writes in sequence, of a record and of its commit.

`FencedStores`: a store that misses waits in the store buffer, where later loads pass it. A flush
and a fence after it change this: the store must fetch its line before the line can be written back.
So each fence after flushes waits in full for one fetch for ownership, if a store missed; the lines
of other stores since the last fence arrive during this wait. Lines stored past the caches are not
fetched, and lines in a stream may have been fetched ahead. Nothing is added where nearfar measured
far memory's flushes: the stores of its kernel miss, and the latency includes the fetch.
"""

from __future__ import annotations

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.devices import curves
from nearfar.devices.library import host_dram
from nearfar.documents.device import DeviceProfile, Operation
from nearfar.predict.device_figures import PATTERNS
from nearfar.predict.host import LOCAL
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import Model, ModelLacksError
from nearfar.predict.traffic import (
    FENCE,
    FLUSH,
    NT_LINE,
    STORE,
    STORE_STREAM,
    Array,
    PhaseTraffic,
)

OPERATIONS: tuple[Operation, ...] = ("clwb", "nt-store", "write")
"""Operations whose latency is that of persisting, best first."""

SYNCED_SHARE = 0.5
"""Share of the lines beyond one per fence that are synced separately in a file: the middle of none
and all. libpmemobj's transactions make 8 syncs for 10 fences and 9.5 lines (`nearfar bench`)."""

JOURNAL_WRITES = 2
"""Writes of a sync that commits a journal: its record, and the block that makes it valid (ext4's
jbd2, xfs' log)."""

HIDDEN_SHARE = 0.5
"""Share of the waits for fetched stores that the interval's low end assumes to be hidden: how store
misses are spread over fences, and how long before its fence a store began, is not counted. A
guess."""


def flushes_known(phase: PhaseTraffic) -> bool:
    """Return whether a phase's flushes were counted, even if there are none."""
    return phase.flushes_counted or persists(phase)


def persists(phase: PhaseTraffic) -> bool:
    """Return whether a phase flushes or stores non-temporally."""
    return float(phase.total[FLUSH] + phase.total[NT_LINE]) > 0.0


class PersistWaits:
    """Additional waits of fences for lines to become durable, of a model's far memory."""

    def __init__(self, model: Model) -> None:
        if not flushes_known(model.phase):
            raise ModelLacksError(
                "persist needs counts of flushes, fences and non-temporal stores, and phase "
                f"{model.phase.name!r} has none: build the program by nearfar cc"
            )
        self._model = model
        self._line_ns = self._fence_ns = 0.0
        self._scale = 1.0
        self._by_sync = False
        self._sync_ends_ns = (0.0, 0.0)
        self._remarks: list[str] = []
        if persists(model.phase) and not model.far.is_near:
            self._set_waits(model.near, model.far)

    def added_ns(self, moved: Array) -> Array:
        """Return the additional wait of the fences of `moved` (..., COLUMNS) in far memory, ns."""
        return self._added_ns(moved, SYNCED_SHARE if self._by_sync else 0.0)

    def ends_ns(self, moved: Array) -> list[float]:
        """Return the minimum and maximum additional wait, ns; empty without syncs.

        Both follow from the possible numbers of syncs and the possible times of each.
        """
        if not self._by_sync:
            return []
        ends = zip((0.0, 1.0), self._sync_ends_ns, strict=True)
        return [float(self._added_ns(moved, share, end_ns)) for share, end_ns in ends]

    def remarks(self) -> list[str]:
        """Return where the waits come from, in sentences."""
        return self._remarks

    def _added_ns(self, moved: Array, synced: float, fence_ns: float | None = None) -> Array:
        lines = moved * self._model.perturbation.lines
        fence_ns = self._fence_ns if fence_ns is None else fence_ns
        return np.asarray(self._scale * _wait_ns(lines, fence_ns, self._line_ns, synced))

    def _set_waits(self, near: MemoryCosts, far: MemoryCosts) -> None:
        host = host_dram(far.device) if near.device.technology in LOCAL else None
        local = host or near.device
        far_ns, near_ns = persisted_ns(far.device, local)
        if far_ns is None:
            raise ModelLacksError(
                f"persist needs the latency of a persisted write, and {far.device.name} gives "
                "none: add [[latency]] with operation = 'clwb' to a copy of it"
            )
        least_ns = 0.0 if host is not None or near_ns is None else -np.inf
        remark = f"persist: a fence waits {far_ns:.0f} ns for one line in {far.device.name} and "
        if near_ns is None:
            near_ns = near.latency_ns
            remark += (
                f"at most {near_ns:.0f} ns, a read's latency, in {local.name}, which gives no "
                "latency of a persisted write"
            )
        else:
            remark += f"{near_ns:.0f} ns in {local.name}"
        perturbation = self._model.perturbation
        self._by_sync = far.device.technology == "file"
        if self._by_sync:
            remark += (
                "; each flushed range is a separate sync, from one per fence to one per line, for "
                "which the program waits off the processor"
            )
        self._remarks = [remark]
        self._fence_ns = max(far_ns * perturbation.far_latency - near_ns, least_ns)
        if self._by_sync:
            self._sync_ends_ns = sync_ends_ns(far.device, self._fence_ns)
        beyond_ns = flushed_beyond_ns(local)
        self._line_ns = max(
            flushed_beyond_ns(far.device) / perturbation.far_bandwidth - beyond_ns, least_ns
        )
        # If the program ran faster than its fences allow, the figures are too high by that factor.
        waited_ns = float(_wait_ns(self._model.total, near_ns, beyond_ns))
        self._scale = min(1.0, self._model.near_time_ns / max(waited_ns, 1e-9))


def persisted_ns(far: DeviceProfile, near: DeviceProfile) -> tuple[float | None, float | None]:
    """Return both devices' latencies of one persisted line, ns; None: unknown.

    Both are of one operation if there is one that both devices have.
    """
    latencies = [
        (_latency_ns(far, operation), _latency_ns(near, operation)) for operation in OPERATIONS
    ]
    for far_ns, near_ns in latencies:
        if far_ns is not None and near_ns is not None:
            return far_ns, near_ns
    return (
        next((ns for ns, _ in latencies if ns is not None), None),
        next((ns for _, ns in latencies if ns is not None), None),
    )


def flushed_beyond_ns(device: DeviceProfile) -> float:
    """Return the time per line of many flushed lines in excess of the time of writing it, ns."""
    flushed, written = (
        LINE_BYTES / curves.bandwidth(device, operation).value_gb_per_s
        for operation in ("clwb", "nt-store")
    )
    return max(0.0, flushed - written)


def sync_ends_ns(drive: DeviceProfile, write_ns: float) -> tuple[float, float]:
    """Return the minimum and maximum wait of a sync where a write takes `write_ns`, ns.

    They are equal if the wait was measured, since that includes cache and journal.
    """
    alone = curves.idle_latency_ns(drive, "write", "sequential")
    if alone is None or alone.how == "measured":
        return write_ns, write_ns
    # A log's pages are rewritten repeatedly, neither at random nor in sequence: the faster of the
    # random and the sequential rate counts.
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


def _wait_ns(lines: Array, fence_ns: float, line_ns: float, synced: float = 0.0) -> Array:
    sent = lines[..., FLUSH] + lines[..., NT_LINE]
    # A fence with nothing flushed before it waits for nothing.
    waits = np.minimum(lines[..., FENCE], sent)
    waits = waits + synced * (sent - waits)
    beyond = np.minimum(lines[..., FLUSH], sent - waits)
    return np.asarray(waits * fence_ns + beyond * line_ns)


class FencedStores:
    """Additional waits of fences for stores' fetches, of a model's far memory."""

    def __init__(self, model: Model) -> None:
        self._lines = model.perturbation.lines
        self._far_ns = model.far.latency_ns
        self._longer_ns = 0.0 if model.far.is_near else self._far_ns - model.near.latency_ns
        fences, flushes, stores, streams = model.phase.total[
            [FENCE, FLUSH, STORE, STORE_STREAM]
        ].tolist()
        if _includes_fetch(model.far.device):
            fences = 0.0
        self._waits = min(fences, flushes, stores)
        self._per_store = self._waits / max(stores, 1.0)
        self._max_per_store = min(fences, flushes, stores + streams) / max(stores + streams, 1.0)
        # If the program ran faster than these waits allow, not all of them are real.
        waited_ns = self._waits * self._lines * model.near.latency_ns
        self._scale = min(1.0, model.near_time_ns / max(waited_ns, 1e-9))

    def added_ns(self, moved: Array) -> Array:
        """Return the additional wait of fences with `moved` (..., COLUMNS) far, ns."""
        return self._added_ns(moved[..., STORE] * self._per_store)

    def ends_ns(self, moved: Array) -> tuple[float, float]:
        """Return the minimum and maximum additional wait for one placement, ns.

        The maximum assumes that no stream was fetched ahead.
        """
        stores = moved[..., STORE] + moved[..., STORE_STREAM]
        return (
            (1.0 - HIDDEN_SHARE) * float(self.added_ns(moved)),
            float(self._added_ns(stores * self._max_per_store)),
        )

    def far_ns(self) -> float:
        """Return these waits with everything far, ns."""
        return float(self._scale * self._lines * self._waits * self._far_ns)

    def remarks(self) -> list[str]:
        """Return the number of waits, in a sentence."""
        if not self._waits or not self._longer_ns:
            return []
        return [
            f"about {self._waits:,.0f} fences wait for a line that a store fetches before it is "
            f"flushed, {self._longer_ns:.0f} ns longer in far memory; the interval covers "
            f"{HIDDEN_SHARE:.0%} of these waits being hidden"
        ]

    def _added_ns(self, waits: Array) -> Array:
        return np.asarray(waits * (self._lines * self._scale * self._longer_ns))


def _includes_fetch(far: DeviceProfile) -> bool:
    """Return whether the latency of a flushed store is one of a store that missed."""
    return far.measured is not None and any(
        curves.idle_latency_ns(far, "clwb", pattern) is not None for pattern in PATTERNS
    )
