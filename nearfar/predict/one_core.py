"""What one core draws of a memory in sequence, by its pages: what it reads, and what it copies."""

from __future__ import annotations

from nearfar.base.units import LINE_BYTES
from nearfar.devices import curves
from nearfar.documents.device import DeviceProfile


def is_of_one_core(device: DeviceProfile) -> bool:
    """Say whether it was measured, and local DRAM read in sequence by one thread only: a core
    alone, or beside a contending one. Of a link whose directions are apart, stores say nothing
    about reads.
    """
    reads = [f for f in device.bandwidth if f.operation == "read" and f.pattern == "sequential"]
    local = device.measured is not None and device.technology == "dram"
    return local and {f.threads for f in reads} <= {1, None}


def read_in_sequence_ns(device: DeviceProfile, page_bytes: int | None) -> tuple[float, float]:
    """Return what a line of one core's sequential read takes, and of that what ends of pages do."""
    own, best = (
        LINE_BYTES / curves.bandwidth(device, "read", threads=1, page_bytes=size).value_gb_per_s
        for size in (page_bytes, None)
    )
    return own, max(own - best, 0.0)


def copied_line_ns(device: DeviceProfile, page_bytes: int | None) -> tuple[float | None, float]:
    """Return what a line read takes while one core copies, with these pages, and of that what ends
    of pages do; None: not measured.

    Of what a copy moves, half is read for itself and half to be stored to: both are reads.
    """
    copies = [
        (figure.page_bytes, LINE_BYTES / figure.value_gb_per_s)
        for figure in device.bandwidth
        if figure.operation == "copy" and figure.threads == 1 and figure.pattern == "sequential"
    ]
    # As of chains: where nothing is said of pages, the largest that were measured.
    wanted = page_bytes or max((size or 0 for size, _ in copies), default=0)
    own = [ns for size, ns in copies if (size or 0) == wanted]
    if device.measured is None or not own:
        return None, 0.0
    return min(own), min(own) - min(ns for _, ns in copies)
