"""Bandwidth in closed form: by threads, by access size, by read share, by stride."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.sim.parameters import DeviceInterleave, ThreadBandwidth


def by_threads(bandwidth: ThreadBandwidth, threads: int) -> float:
    """Return the bandwidth of `threads` in GB/s.

    The bandwidth is linear between published thread counts and constant beyond the last. Without
    published counts it is ((T b1)^-p + Bmax^-p)^(-1/p). This smooth form is within 4 % of the
    published curves to which it was fitted, and within 1.4-9 % of other capacities and generations;
    the simpler min(T b1, Bmax) is off by 10 % at its corner.
    """
    p = bandwidth.sharpness
    if bandwidth.points:
        fewest, least = bandwidth.points[0]
        if threads < fewest:
            return least * threads / fewest
        counts, values = zip(*bandwidth.points, strict=True)
        return float(np.interp(threads, counts, values))
    linear = threads * bandwidth.one_thread_gb_per_s
    return saturated(linear, bandwidth.max_gb_per_s, p)


def saturated(demand_gb_per_s: float, max_gb_per_s: float, sharpness: float) -> float:
    """Return the bandwidth that a memory with limit `max_gb_per_s` delivers for a demand."""
    if demand_gb_per_s <= 0:
        return 0.0
    # The larger term is factored out so that no power overflows.
    low, high = sorted((demand_gb_per_s, max_gb_per_s))
    return float(low * (1 + (low / high) ** sharpness) ** (-1 / sharpness))


def scaled_by(bandwidth: ThreadBandwidth, share: float) -> ThreadBandwidth:
    """Return `bandwidth` in requested bytes, if only a `share` of the moved bytes is requested."""
    return replace(
        bandwidth,
        one_thread_gb_per_s=bandwidth.one_thread_gb_per_s * share,
        max_gb_per_s=bandwidth.max_gb_per_s * share,
        points=tuple((threads, value * share) for threads, value in bandwidth.points),
    )


def capped(bandwidth: ThreadBandwidth, max_gb_per_s: float) -> ThreadBandwidth:
    """Return `bandwidth` limited to `max_gb_per_s`, such as that of some of the devices."""
    return replace(
        bandwidth,
        max_gb_per_s=max_gb_per_s,
        points=tuple((threads, min(value, max_gb_per_s)) for threads, value in bandwidth.points),
    )


def amplified(access_bytes: int, granularity_bytes: int) -> float:
    """Return the bytes that the medium moves per byte of a random access."""
    moved = math.ceil(access_bytes / granularity_bytes) * granularity_bytes
    return moved / access_bytes


def busiest_share(
    interleave: DeviceInterleave | None, stride_bytes: int, access_bytes: int
) -> float:
    """Return the share of strided traffic that the busiest device gets, 1 / devices to 1."""
    if interleave is None or interleave.devices == 1:
        return 1.0
    devices, granularity = interleave.devices, interleave.granularity_bytes
    lines = [0] * devices
    # After granularity x devices / gcd accesses the pattern repeats.
    repeat = granularity * devices // math.gcd(granularity * devices, stride_bytes)
    for index in range(min(repeat, 4096)):
        for line in range(0, access_bytes, LINE_BYTES):
            lines[(index * stride_bytes + line) // granularity % devices] += 1
    return max(lines) / sum(lines)


def mixed(read_gb_per_s: float, write_gb_per_s: float, read_share: float) -> float:
    """Return the GB/s of mixed traffic: the times of reads and writes add up."""
    return 1 / (read_share / read_gb_per_s + (1 - read_share) / write_gb_per_s)
