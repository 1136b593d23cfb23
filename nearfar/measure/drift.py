"""Drift: changes beyond noise since an earlier run on the same memory and machine.

Tools that print one number cannot tell a change of the machine from noise. A guide to Intel's MLC
shows the same command reading 87.8 ns and later 185.7 ns "until reboot", cause not found; with
two profiles that is one warning that names what to check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile
from nearfar.documents.device import Drift
from nearfar.documents.header import load

STATE_CHANGE_RATIO = 1.5
"""Ratio of change that means another state of the machine: too large for noise, temperature or a
neighbour. Run-to-run shifts in the authors' trials were 6 to 14 %."""

MAX_NAMED_DRIFTS = 3
"""Drifts that one warning names; the profile has all."""

CHECKS = (
    "huge pages (memory too fragmented since boot: grep AnonHugePages /proc/self/smaps, "
    "echo 1 > /proc/sys/vm/compact_memory)",
    "prefetchers left switched off by a tool that was killed (rdmsr -a 0x1a4)",
    "pages on another node (numactl --hardware, numastat -m)",
    "the clock (cpupower frequency-info)",
    "Memory Mode, where a cache of DRAM stands before the memory",
)
"""Possible causes of a machine that stays slow until reboot, most likely first."""


@dataclass(frozen=True)
class _Value:
    value: float
    low: float
    high: float
    unit: str


def earlier_run(path: Path) -> DeviceProfile | None:
    """Return the profile measured earlier at `path`; None: there is none to compare with."""
    if not path.is_file():
        return None
    try:
        before = load(path, DeviceProfile)
    except NearfarError:
        return None  # another document, or of another version: not an earlier run
    return before if before.measured is not None else None


def comparable(now: DeviceProfile, before: DeviceProfile) -> bool:
    """Return whether both profiles describe the same memory on the same machine."""
    return (
        now.measured is not None
        and before.measured is not None
        and now.measured.memory_spec == before.measured.memory_spec
        and now.producer.host == before.producer.host
        and now.producer.cpu_model == before.producer.cpu_model
    )


def compare(now: DeviceProfile, before: DeviceProfile) -> list[Drift]:
    """Return the change of every figure that both runs have; empty if they are not comparable.

    A change is beyond noise if the intervals do not overlap and the change exceeds the A/A floor
    of both runs.
    """
    if not comparable(now, before) or now.measured is None or before.measured is None:
        return []
    floor = max(now.measured.noise_floor, before.measured.noise_floor)
    earlier = dict(_figures(before))
    drifts: list[Drift] = []
    for name, value in _figures(now):
        old = earlier.get(name)
        if old is None or old.value <= 0:
            continue
        apart = value.low > old.high or value.high < old.low
        drifts.append(
            Drift(
                figure=name,
                before=old.value,
                now=value.value,
                unit=value.unit,
                since=before.producer.time_utc,
                beyond_noise=apart and abs(value.value / old.value - 1) > floor,
            )
        )
    return drifts


def warnings(drifts: list[Drift]) -> list[str]:
    """Return one sentence on figures that moved beyond noise; empty if none did."""
    moved = sorted(
        (drift for drift in drifts if drift.beyond_noise), key=_change_ratio, reverse=True
    )
    if not moved:
        return []
    named = "; ".join(
        f"{drift.figure} {drift.before:.1f} {drift.unit} then, {drift.now:.1f} now"
        for drift in moved[:MAX_NAMED_DRIFTS]
    )
    rest = f" and {len(moved) - MAX_NAMED_DRIFTS} more" if len(moved) > MAX_NAMED_DRIFTS else ""
    text = (
        f"{len(moved)} of {len(drifts)} figures moved beyond noise since {moved[0].since}: "
        f"{named}{rest}"
    )
    if _change_ratio(moved[0]) >= STATE_CHANGE_RATIO:
        text += (
            "; so large a change means another state of the machine, which often lasts until "
            "reboot: check " + "; ".join(CHECKS)
        )
    return [text]


def _change_ratio(drift: Drift) -> float:
    ratio = drift.now / drift.before if drift.now > 0 else float("inf")
    return max(ratio, 1 / ratio)


def _figures(device: DeviceProfile) -> Iterator[tuple[str, _Value]]:
    """Yield every figure with an interval, and its name."""
    for latency in device.latency:
        where = format_bytes(latency.region_bytes) if latency.region_bytes else "beyond all buffers"
        name = (
            f"{latency.pattern} {latency.instruction} latency, {where}{_pages(latency.page_bytes)}"
        )
        name += _stride(latency.stride_bytes)
        if latency.low_ns is not None and latency.high_ns is not None:
            yield name, _Value(latency.value_ns, latency.low_ns, latency.high_ns, "ns")
    for chain in device.chains:
        if chain.low_ns is not None and chain.high_ns is not None:
            name = f"{chain.chains} chains{_pages(chain.page_bytes)}"
            yield name, _Value(chain.value_ns, chain.low_ns, chain.high_ns, "ns")
    for rate in device.bandwidth:
        if rate.low_gb_per_s is None or rate.high_gb_per_s is None:
            continue
        name = f"{rate.pattern} {rate.operation} bandwidth"
        if rate.read_share is not None:
            name += f", {rate.read_share:.0%} reads"
        name += f", {rate.threads or 'best'} threads"
        name += f", {rate.access_bytes} B" if rate.access_bytes is not None else ""
        name += _stride(rate.stride_bytes)
        yield name, _Value(rate.value_gb_per_s, rate.low_gb_per_s, rate.high_gb_per_s, "GB/s")


def _pages(page_bytes: int | None) -> str:
    return f", {format_bytes(page_bytes)} pages" if page_bytes else ""


def _stride(stride_bytes: int | None) -> str:
    return f", every {stride_bytes} B" if stride_bytes else ""
