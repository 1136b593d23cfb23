"""Two measurements of a memory, or two devices: latencies, bandwidths, chains."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.compare.compared_value import Z95, ComparedValue, Worse
from nearfar.compare.kind import KINDS, ComparableKind, Names
from nearfar.documents import DeviceProfile


@KINDS.register("device-profile")
class Devices(ComparableKind[DeviceProfile]):
    """What `nearfar measure` wrote, twice; or published figures, in which there is no chance."""

    document = DeviceProfile

    def figures(self, documents: Sequence[DeviceProfile]) -> list[ComparedValue]:
        """Return all figures with an interval, or published."""
        if len(documents) > 1:
            raise NearfarError("of devices one is compared with one: name two files")
        (device,) = documents
        found = [
            _figure(
                device,
                "latency",
                _name(
                    *(one.operation, one.pattern, one.instruction),
                    region=one.region_bytes,
                    pages=one.page_bytes,
                    stride=one.stride_bytes,
                ),
                "ns",
                (one.value_ns, one.low_ns, one.high_ns),
            )
            for one in device.latency
        ]
        found += [
            _figure(
                device,
                "chains",
                _name(f"{one.chains} chains", pages=one.page_bytes),
                "ns",
                (one.value_ns, one.low_ns, one.high_ns),
            )
            for one in device.chains
        ]
        found += [
            _figure(
                device,
                "bandwidth",
                _name(
                    *(one.operation, one.pattern),
                    *([] if one.read_share is None else [f"{one.read_share:.0%} reads"]),
                    *([] if one.threads is None else [f"{one.threads} threads"]),
                    access=one.access_bytes,
                    stride=one.stride_bytes,
                ),
                "GB/s",
                (one.value_gb_per_s, one.low_gb_per_s, one.high_gb_per_s),
                worse="less",
            )
            for one in device.bandwidth
        ]
        return found

    def warnings(
        self, a: Sequence[DeviceProfile], b: Sequence[DeviceProfile], names: Names
    ) -> list[str]:
        """Say where one was measured and the other not, or on another memory."""
        specs = [one[0].measured.memory_spec if one[0].measured else None for one in (a, b)]
        if (specs[0] is None) != (specs[1] is None):
            return ["one of them was measured by nearfar, the other is published or imported"]
        if specs[0] != specs[1]:
            return [f"{names.a} is of {specs[0]}, {names.b} of {specs[1]}"]
        return []


def _figure(
    device: DeviceProfile,
    family: str,
    name: str,
    unit: str,
    value: tuple[float, float | None, float | None],
    *,
    worse: Worse = "more",
) -> ComparedValue:
    middle, low, high = value
    measured = device.measured
    if measured is None:
        return ComparedValue(family, name, unit, middle, worse, sigma=0.0)
    if low is None or high is None:
        return ComparedValue(
            family, name, unit, middle, worse, timed=True, note="it has no interval"
        )
    # What half a session differs from the other half by, two sessions differ by too.
    drift = measured.noise_floor * middle / Z95
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
