"""Two measurements of a memory, or two devices: latencies, bandwidths, chains."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.compare.kind import KINDS, Z95, ComparableKind, ComparedValue, SideNames, Worse
from nearfar.devices.quality import BANDWIDTH_KIND, THREADS_KIND
from nearfar.documents import DeviceProfile


@KINDS.register("device-profile")
class Devices(ComparableKind[DeviceProfile]):
    """Measurements of `nearfar measure`; or published values, which have no random error."""

    document = DeviceProfile

    def values(self, documents: Sequence[DeviceProfile]) -> list[ComparedValue]:
        """Return all published values, and measured values with their intervals."""
        if len(documents) > 1:
            raise NearfarError("a device is compared with one device: name two files")
        (device,) = documents
        values = [
            _value(
                device,
                "latency",
                _name(
                    *(row.operation, row.pattern, row.instruction),
                    region=row.region_bytes,
                    pages=row.page_bytes,
                    stride=row.stride_bytes,
                ),
                "ns",
                (row.value_ns, row.low_ns, row.high_ns),
            )
            for row in device.latency
        ]
        values += [
            _value(
                device,
                "chains",
                _name(f"{row.chains} chains", pages=row.page_bytes),
                "ns",
                (row.value_ns, row.low_ns, row.high_ns),
            )
            for row in device.chains
        ]
        values += [
            _value(
                device,
                "bandwidth",
                _name(
                    *(row.operation, row.pattern),
                    *([] if row.read_share is None else [f"{row.read_share:.0%} reads"]),
                    *([] if row.threads is None else [f"{row.threads} threads"]),
                    access=row.access_bytes,
                    stride=row.stride_bytes,
                ),
                "GB/s",
                (row.value_gb_per_s, row.low_gb_per_s, row.high_gb_per_s),
                worse="less",
                kind=BANDWIDTH_KIND if row.threads == 1 else THREADS_KIND,
            )
            for row in device.bandwidth
        ]
        return values

    def warnings(
        self, a: Sequence[DeviceProfile], b: Sequence[DeviceProfile], names: SideNames
    ) -> list[str]:
        """Warn of a measured and a published device, and of different memories."""
        specs = [side[0].measured.memory_spec if side[0].measured else None for side in (a, b)]
        if (specs[0] is None) != (specs[1] is None):
            return ["one side was measured by nearfar, the other is published or imported"]
        if specs[0] != specs[1]:
            return [f"{names.a} is of {specs[0]}, {names.b} of {specs[1]}"]
        return []


def _value(
    device: DeviceProfile,
    family: str,
    name: str,
    unit: str,
    value: tuple[float, float | None, float | None],
    *,
    worse: Worse = "more",
    kind: str = "",
) -> ComparedValue:
    middle, low, high = value
    measured = device.measured
    if measured is None:
        return ComparedValue(family, name, unit, middle, worse, sigma=0.0)
    if low is None or high is None:
        return ComparedValue(
            family, name, unit, middle, worse, timed=True, note="it has no interval"
        )
    # Two sessions differ at least as much as the two halves of a session.
    floor = measured.noise_floors.get(kind or family, measured.noise_floor)
    drift = floor * middle / Z95
    sigma = math.hypot((high - low) / (2.0 * Z95), drift)
    return ComparedValue(
        *(family, name, unit, middle, worse),
        sigma=sigma,
        repetitions=measured.repetitions,
        timed=True,
    )


def _name(*words: str, **sizes: int | None) -> str:
    parts = [f"{key} {format_bytes(size)}" for key, size in sizes.items() if size is not None]
    return ", ".join([*words, *parts])
