"""Rows about devices, to print or to write as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.devices.curves import (
    bandwidth,
    idle_latency_ns,
    idle_read_latency_ns,
    loaded_curve,
)
from nearfar.devices.paged_figures import fault_cost
from nearfar.documents.device import DeviceProfile, Figure, LoadedLatencyCurve, Operation, Pattern

MAX_SOURCE_CHARACTERS = 44
"""Characters of a citation in a list: author and the first words of the title."""


@dataclass(frozen=True)
class QuantityRow:
    """One quantity of a device."""

    quantity: str
    unit: str
    value: float | None
    how: str
    note: str


def summary(device: DeviceProfile) -> dict[str, Any]:
    """Return the row of a device in `device list`."""
    idle = _or_none(lambda: idle_read_latency_ns(device))
    read = _or_none(lambda: bandwidth(device, "read"))
    write = _or_none(lambda: bandwidth(device, "write"))
    fault = _or_none(lambda: fault_cost(device))
    figures = [figure for figure in (fault, idle, read, write) if figure is not None]
    source = device.sources[figures[0].source].citation if figures else ""
    return {
        "name": device.name,
        "title": device.title,
        "technology": device.technology,
        "idle_read_ns": idle.value_ns if idle else None,
        "fault_ns": fault.value_ns if fault else None,
        "fault_basis": basis(fault) if fault else None,
        "read_gb_per_s": read.value_gb_per_s if read else None,
        "write_gb_per_s": write.value_gb_per_s if write else None,
        "assumed": sorted(
            key
            for key, figure in (
                ("idle_read_ns", idle),
                ("read_gb_per_s", read),
                ("write_gb_per_s", write),
            )
            if figure is not None and figure.how == "assumed"
        ),
        "basis": {
            key: basis(figure) if figure is not None else None
            for key, figure in (
                ("idle_read_ns", idle),
                ("read_gb_per_s", read),
                ("write_gb_per_s", write),
            )
        },
        "unverified": device.unverified,
        "loaded_latency_curves": len(device.loaded_latency),
        "oddities": sum(len(curve.oddities) for curve in device.loaded_latency),
        "source": source,
    }


def basis(figure: Figure) -> str:
    """Return whether a figure was measured, derived from measured ones or assumed."""
    return {"fitted": "derived", "assumed": "assumed"}.get(figure.how, "measured")


def short(citation: str) -> str:
    """Return the beginning of a citation."""
    return textwrap.shorten(citation, MAX_SOURCE_CHARACTERS, placeholder="...")


def rows(device: DeviceProfile) -> list[QuantityRow]:
    """Return the quantities by which devices are compared, the same for every device."""
    return [
        _row("idle random read", "ns", lambda: idle_read_latency_ns(device)),
        _latency("idle sequential read", device, "read", "sequential"),
        _latency("idle nt-store, sequential", device, "nt-store", "sequential"),
        _latency("idle nt-store, random", device, "nt-store", "random"),
        *(
            _row(
                f"{operation} bandwidth",
                "GB/s",
                lambda operation=operation: bandwidth(device, operation),  # type: ignore[misc]
            )
            for operation in ("read", "write", "nt-store")
        ),
        _row("random read bandwidth", "GB/s", lambda: bandwidth(device, "read", "random")),
        *(_loaded(device, share) for share in (1.0, 0.5)),
        QuantityRow("granularity", "B", float(device.granularity_bytes), "", ""),
    ]


def compare(first: DeviceProfile, second: DeviceProfile) -> list[dict[str, Any]]:
    """Return each quantity of both devices and the ratio second over first."""
    return [
        {
            "quantity": a.quantity,
            "unit": a.unit,
            "first": a.value,
            "second": b.value,
            "ratio": b.value / a.value if a.value and b.value is not None else None,
            "first_how": a.how,
            "second_how": b.how,
            "first_note": a.note,
            "second_note": b.note,
        }
        for a, b in zip(rows(first), rows(second), strict=True)
        if a.value is not None or b.value is not None
    ]


def compare_all(first: DeviceProfile, others: list[DeviceProfile]) -> list[dict[str, Any]]:
    """Return each quantity that any device has, for all devices, with its ratio to the first.

    For exactly two devices, each row also has the keys that `compare` returns.
    """
    tables = [rows(device) for device in (first, *others)]
    compared = []
    for quantity_rows in zip(*tables, strict=True):
        values = [row.value for row in quantity_rows]
        if all(value is None for value in values):
            continue
        base = values[0]
        compared.append(
            {
                "quantity": quantity_rows[0].quantity,
                "unit": quantity_rows[0].unit,
                "values": values,
                "hows": [row.how for row in quantity_rows],
                "notes": [row.note for row in quantity_rows],
                "ratios": [
                    value / base if base and value is not None else None for value in values[1:]
                ],
            }
        )
    if len(others) == 1:
        return [old | new for old, new in zip(compare(first, others[0]), compared, strict=True)]
    return compared


HALF_LOAD = (0.25, 0.75)
"""Shares of a curve's best bandwidth that count as half load."""


def half_load(curve: LoadedLatencyCurve) -> tuple[float, float] | None:
    """Return (GB/s, ns) of the point nearest to half the curve's best bandwidth; see `HALF_LOAD`.

    None: no point is near half load.
    """
    best = max(curve.points)[0]
    load, latency = min(curve.points, key=lambda point: abs(point[0] - best / 2))
    return (load, latency) if HALF_LOAD[0] * best <= load <= HALF_LOAD[1] * best else None


def _loaded(device: DeviceProfile, share: float) -> QuantityRow:
    """Return the read latency at half load of the curve with this share of reads."""
    name = f"read latency at half load, {share:.0%} reads"
    curve = loaded_curve(device, share)
    if curve is None or abs(curve.read_share - share) > 0.1:
        return QuantityRow(name, "ns", None, "", "")
    if (point := half_load(curve)) is None:
        return QuantityRow(name, "ns", None, "", "no point of the curve is near half load")
    load, latency = point
    return QuantityRow(name, "ns", latency, curve.how, f"at {load:.1f} GB/s")


def _latency(
    name: str, device: DeviceProfile, operation: Operation, pattern: Pattern
) -> QuantityRow:
    figure = idle_latency_ns(device, operation, pattern)
    if figure is None:
        return QuantityRow(name, "ns", None, "", "")
    return QuantityRow(name, "ns", figure.value_ns, figure.how, figure.note)


def _row(name: str, unit: str, get: Callable[[], Figure]) -> QuantityRow:
    figure = _or_none(get)
    if figure is None:
        return QuantityRow(name, unit, None, "", "")
    value = getattr(figure, "value_ns", None) or getattr(figure, "value_gb_per_s", None)
    return QuantityRow(name, unit, value, figure.how, figure.note)


def _or_none(get: Callable[[], Any]) -> Any:
    try:
        return get()
    except NearfarError:
        return None
