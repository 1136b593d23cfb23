"""Checks of a DeviceProfile beyond its types: existing sources, plausible quantities."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.errors import nearest
from nearfar.devices.names import device_names
from nearfar.documents.device import (
    BandwidthFigure,
    DeviceProfile,
    Figure,
    LatencyFigure,
    LoadedLatencyCurve,
)
from nearfar.documents.fields import MOST

ARRAYS = (
    "latency",
    "bandwidth",
    "chains",
    "loaded_latency",
    "buffers",
    "stalls",
    "write_queues",
    "interleaves",
    "faults",
)
"""Keys of a DeviceProfile that hold figures."""

MIN_LATENCY_NS, MAX_GB_PER_S = 5.0, 10_000.0
"""Bounds of the memory of one machine. A typed figure beyond them is in another unit: us, MB/s."""

Problem = tuple[tuple[str | int, ...], str]
"""Path (keys and indices) and a clause that says what is wrong."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_device(device: DeviceProfile) -> Problem | None:
    """Return the first problem of `device`, or None."""
    return next(_problems(device), None)


def _problems(device: DeviceProfile) -> Iterator[Problem]:
    if not NAME.fullmatch(device.name):
        yield (
            ("name",),
            f"the name {device.name!r} must be lower-case letters, digits and single dashes",
        )
    if device.granularity_bytes < 1:
        yield ("granularity_bytes",), "key 'granularity_bytes' must be at least 1"
    if device.host_dram is not None:
        yield from _host_dram(device, device.host_dram)
    for name, source in device.sources.items():
        if not source.citation.strip():
            yield ("sources", name, "citation"), f"source {name!r} has an empty citation"
    for array in ARRAYS:
        for index, figure in enumerate(getattr(device, array)):
            where = (array, index)
            if figure.source not in device.sources:
                names = ", ".join(device.sources) or "none"
                yield (
                    (*where, "source"),
                    f"there is no source {figure.source!r}; there are: {names}",
                )
            if figure.how == "assumed" and not figure.note:
                yield where, "an assumed figure needs a note that says why"
            for key in figure.__struct_fields__:
                yield from _quantity((*where, key), getattr(figure, key))
            yield from _intervals(where, figure)
            if isinstance(figure, LoadedLatencyCurve):
                yield from _points(where, figure)
                yield from _tails(where, figure)
            if figure.how != "measured":  # typed by a person
                yield from _units(where, figure)


def _host_dram(device: DeviceProfile, name: str) -> Iterator[Problem]:
    where = ("host_dram",)
    if device.measured is not None:
        yield (
            where,
            "key 'host_dram' is for published figures, and this device was measured",
        )
    elif Path(name).suffix not in (".toml", ".json") and name not in device_names():
        hint = nearest(name, device_names()) or "; `nearfar device list` shows all"
        yield where, f"key 'host_dram': there is no device {name!r} in the library{hint}"


def _quantity(where: tuple[str | int, ...], value: object) -> Iterator[Problem]:
    key = str(where[-1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if key in ("read_share", "confidence", "compressed_share", "cpu_share"):
        if not 0 <= value <= 1:
            yield where, f"key {key!r} must be between 0 and 1, not {value:g}"
    elif not 0 < value <= MOST:
        yield where, f"key {key!r} must be a positive number, not {value:g}"


def _units(where: tuple[str | int, ...], figure: Figure) -> Iterator[Problem]:
    """Yield figures that must be in another unit."""
    latencies: list[float] = []
    bandwidths: list[float] = []
    if isinstance(figure, LatencyFigure) and figure.pattern == "random":
        latencies = [figure.value_ns] if figure.region_bytes is None else []
    elif isinstance(figure, BandwidthFigure):
        bandwidths = [figure.value_gb_per_s]
    elif isinstance(figure, LoadedLatencyCurve):
        bandwidths, latencies = [x for x, _ in figure.points], [y for _, y in figure.points]
    if latencies and min(latencies) < MIN_LATENCY_NS:
        yield where, f"no memory answers in {min(latencies):g} ns: latencies are in ns, not us"
    if bandwidths and max(bandwidths) > MAX_GB_PER_S:
        yield where, f"no memory moves {max(bandwidths):g} GB/s: bandwidths are in GB/s, not MB/s"


def _intervals(where: tuple[str | int, ...], figure: Figure) -> Iterator[Problem]:
    """Yield the intervals of `figure` whose low end is above the high end."""
    for key in figure.__struct_fields__:
        if "low" not in key.split("_"):
            continue
        other = key.replace("low", "high")
        low, high = getattr(figure, key), getattr(figure, other)
        if low is not None and high is not None and low > high:
            yield (*where, key), f"key {key!r} ({low:g}) is above {other!r} ({high:g})"


def _tails(where: tuple[str | int, ...], curve: LoadedLatencyCurve) -> Iterator[Problem]:
    path = (*where, "tails")
    if curve.tails and len(curve.tails) != len(curve.points):
        yield (
            path,
            f"{len(curve.tails)} tails for {len(curve.points)} points: give one for each, or none",
        )
    for number, tail in enumerate(curve.tails, start=1):
        steps = (tail.p50_ns, tail.p90_ns, tail.p99_ns, tail.p99_9_ns, tail.p99_99_ns)
        if not all(math.isfinite(step) for step in steps) or list(steps) != sorted(steps):
            yield path, f"tail {number}: percentiles must be finite and rise from p50 to p99.99"


def _points(where: tuple[str | int, ...], curve: LoadedLatencyCurve) -> Iterator[Problem]:
    if len(curve.points) < 2:
        yield (*where, "points"), "a loaded-latency curve needs at least two points"
    for number, (bandwidth, latency) in enumerate(curve.points, start=1):
        # At idle a bandwidth from counters may be just below zero: an oddity, not an error.
        if not (math.isfinite(bandwidth) and math.isfinite(latency) and latency > 0):
            yield (
                (*where, "points"),
                f"point {number} ({bandwidth:g} GB/s, {latency:g} ns) is not a measurement: "
                "bandwidth must be finite and latency positive",
            )
