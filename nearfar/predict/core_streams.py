"""The time of one core's sequential reads, per line, if no figure of this core gives it.

A core keeps a number of lines in flight: its rate follows from the latency, up to the memory's
bandwidth. Near memory without a figure of one thread has `ASSUMED_STREAM_LINES` in flight; its peak
bandwidth is that of many cores. Far memory without one lies between "bandwidth alone" (the
prefetcher hides all latency) and "a fixed number of lines in flight" (time grows with latency): the
value is the geometric mean, and the interval spans both. In the library's memories whose figures of
one thread are published, time grows as latency to the power of 0.1 to 0.9.

A figure of one thread that was published for another machine includes that machine's core. If that
machine's local DRAM has such a figure too, and near memory here has one, far memory's time here is
near memory's time multiplied by the ratio on that machine, and the interval spans the published
time. If near memory's time is assumed, the published time is used and the interval spans the
converted one.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base.units import LINE_BYTES
from nearfar.devices import curves
from nearfar.devices.library import host_dram
from nearfar.documents.device import DeviceProfile
from nearfar.predict import device_figures
from nearfar.predict.memory import MemoryCosts

ASSUMED_STREAM_LINES = 20.0
"""Lines in flight of one core's sequential reads where its bandwidth was not measured: 12 to 29 in
published figures of one thread on DDR4, DDR5 and Optane 200."""

SLOWEST_WRITES = 3.0
"""Largest ratio of write time to read time per line, used if only the read bandwidth is known: 1.0
to 1.4 in the library's DRAM and CXL memories, 2.2 to 3.0 in its Optane."""


@dataclass(frozen=True)
class CoreStream:
    """One core's sequential reads."""

    line_ns: float
    """Time of a line."""
    ends_ns: float = 0.0
    """Part of it spent at the ends of pages."""
    span: tuple[float, float] = (1.0, 1.0)
    """Shortest and longest time over `line_ns` that the assumptions leave open."""


def near_stream(
    device: DeviceProfile, page_bytes: int | None, latency_ns: float, caveats: list[str]
) -> CoreStream:
    """Return one core's sequential reads of near memory; `latency_ns` excludes page walks."""
    line_ns, ends_ns = device_figures.core_stream_ns(device, page_bytes)
    assumed_ns = latency_ns / ASSUMED_STREAM_LINES
    if _stream_known(device) or assumed_ns <= line_ns:
        return CoreStream(line_ns, ends_ns)
    caveats.append(
        f"{device.name} has no bandwidth of one thread: one core's sequential reads are assumed to "
        f"have {ASSUMED_STREAM_LINES:g} lines in flight, {LINE_BYTES / assumed_ns:.0f} GB/s"
    )
    return CoreStream(assumed_ns)


def far_stream(
    device: DeviceProfile,
    near: MemoryCosts,
    latency_ratio: float,
    page_bytes: int | None,
    caveats: list[str],
) -> CoreStream:
    """Return one core's sequential reads of far memory.

    `latency_ratio` is far over near latency on this machine.
    """
    line_ns, ends_ns = device_figures.core_stream_ns(device, page_bytes)
    slower = max(1.0, latency_ratio)
    if not _has_one_thread_figure(device):
        caveats.append(
            f"{device.name} has no bandwidth of one thread: the time of one core's sequential "
            "reads is assumed to lie between what latency and what bandwidth allow"
        )
        ends = [max(line_ns, near.core_stream_ns * slower**power) for power in (0.0, 0.5, 1.0)]
        return _spanning(ends[1], ends[0], ends[2])
    if device.measured is not None:
        return CoreStream(line_ns, ends_ns)
    # Sequential reads of a memory with a longer latency are not faster than those of near memory.
    least_ns = near.core_stream_ns if latency_ratio >= 1.0 else 0.0
    host = host_dram(device)
    if host is None or not _has_one_thread_figure(host):
        value_ns = max(line_ns, least_ns)
        return CoreStream(value_ns, ends_ns, (line_ns / value_ns, 1.0))
    there_ns, _ = device_figures.core_stream_ns(host, page_bytes)
    if there_ns == near.core_stream_ns:  # this machine is the host
        return CoreStream(line_ns, ends_ns)
    bus_ns = LINE_BYTES / curves.bandwidth(device, "read").value_gb_per_s
    ratio_ns = max(near.core_stream_ns * line_ns / there_ns, bus_ns)
    here_ns = max(ratio_ns if _stream_known(near.device) else line_ns, least_ns)
    caveats.append(
        f"one core reads {LINE_BYTES / line_ns:.1f} GB/s in sequence from {device.name} where "
        f"{host.name} gives it {LINE_BYTES / there_ns:.1f}: {LINE_BYTES / here_ns:.1f} GB/s are "
        f"assumed here, for {LINE_BYTES / near.core_stream_ns:.1f} in near memory"
    )
    return _spanning(here_ns, min(ratio_ns, line_ns), max(ratio_ns, line_ns, here_ns))


def writes_span(device: DeviceProfile) -> tuple[float, float]:
    """Return the shortest and the longest time of a written line, relative to the time used."""
    figure = curves.bandwidth(device, "nt-store")
    stands_in = figure.how == "assumed" and figure.operation == "read"
    return (1.0, SLOWEST_WRITES) if stands_in else (1.0, 1.0)


def _spanning(value_ns: float, low_ns: float, high_ns: float) -> CoreStream:
    return CoreStream(value_ns, 0.0, (low_ns / value_ns, high_ns / value_ns))


def _stream_known(near: DeviceProfile) -> bool:
    return near.measured is not None or _has_one_thread_figure(near)


def _has_one_thread_figure(device: DeviceProfile) -> bool:
    return curves.bandwidth(device, "read", threads=1).threads == 1
