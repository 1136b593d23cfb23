"""Noise of a session in a paged memory: measurements next to each program, as intervals."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from nearfar.documents import DeviceProfile
from nearfar.measure.paged.measure import spread_of


def scaled_device(
    device: DeviceProfile, beside_ns: Sequence[float], *, spread: bool = True
) -> DeviceProfile:
    """Return `device` with all times of pages scaled to exchanges measured next to a program.

    `beside_ns` are the times of these exchanges. Intervals are the device's, scaled; with `spread`
    they also cover the middle 90 % of these exchanges.
    """
    reference = next(
        row.value_ns
        for row in device.faults
        if (row.event, row.operation, row.pattern, row.retouches)
        == ("exchange", "read", "random", None)
    )
    factor = statistics.median(beside_ns) / reference
    low, high = factor, factor
    if spread:
        low, high = (end / reference for end in spread_of(beside_ns))
    faults = [
        msgspec.structs.replace(
            row,
            value_ns=factor * row.value_ns,
            low_ns=min(low * row.value_ns, factor * (row.low_ns or row.value_ns)),
            high_ns=max(high * row.value_ns, factor * (row.high_ns or row.value_ns)),
        )
        for row in device.faults
    ]
    return msgspec.structs.replace(device, faults=faults)
