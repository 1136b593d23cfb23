"""Bytes alive over time: the largest objects as series of their own, the others together."""

from __future__ import annotations

from nearfar.documents import WorkloadProfile
from nearfar.report.data import Live, LiveSeries
from nearfar.report.labels import label

MAX_SERIES = 7
"""Series with their own colour: more than seven and "other" cannot be distinguished."""


def live(profile: WorkloadProfile, position: dict[int, int]) -> Live:
    """Return the profile's samples as stacked series, largest peak first, "other" last."""
    samples = sorted(profile.live, key=lambda sample: sample.time_ns)
    peaks: dict[str, int] = {}
    for sample in samples:
        for key, size in sample.bytes_by_object.items():
            peaks[key] = max(peaks.get(key, 0), size)
    known = [key for key in peaks if key.isdigit() and int(key) in position]
    shown = sorted(known, key=lambda key: (-peaks[key], int(key)))[:MAX_SERIES]
    series = [
        LiveSeries(
            object=position[int(key)],
            name=label(profile.objects[position[int(key)]].name),
            bytes=[sample.bytes_by_object.get(key, 0) for sample in samples],
        )
        for key in shown
    ]
    rest = [
        sum(size for key, size in sample.bytes_by_object.items() if key not in shown)
        for sample in samples
    ]
    if any(rest):
        series.append(LiveSeries(object=None, name="other objects", bytes=rest))
    return Live(
        time_ns=[sample.time_ns for sample in samples],
        phases=[sample.phase for sample in samples],
        series=series,
    )
