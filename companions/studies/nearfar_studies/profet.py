"""Predictions of PROFET's programs: counted on one memory, measured on another of the same machine.

The counters and the measured cycles per instruction are in `reference/profet.json`, the curves in
the device library. A prediction uses the counters of one memory and the curves of both, through the
same functions as `nearfar predict COUNTERS.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.api import predict
from nearfar.devices.library import load_device
from nearfar.documents import producer
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.predict.from_counters import profile_of_counters
from nearfar_studies.cycle_level import CyclePrediction

REFERENCE = Path(__file__).with_name("reference") / "profet.json"

PLATFORMS = {
    "sandy-bridge": (3.0, ("ddr3-1600", "ddr3-1333", "ddr3-1066", "ddr3-800")),
    "knights-landing": (1.3, ("mcdram", "ddr4")),
}
"""Clock in GHz, and memories in descending order of bandwidth. Both the counters and the library's
latencies are in cycles, so the clock does not change any slowdown."""

DIRECTIONS = ("fast to slow", "slow to fast")
MODEL = "counters"


def load() -> dict[str, Any]:
    """Return the figures."""
    figures: dict[str, Any] = json.loads(REFERENCE.read_text())
    return figures


def cases(figures: dict[str, Any], platform: str) -> dict[str, list[CyclePrediction]]:
    """Predict every program from each memory of a platform to each other memory, by direction."""
    ghz, memories = PLATFORMS[platform]
    devices = [load_device(f"{memory}-{platform}") for memory in memories]
    by_direction: dict[str, list[CyclePrediction]] = {name: [] for name in DIRECTIONS}
    for program, runs in figures["runs"][platform].items():
        for near_place, near in enumerate(memories):
            profile = profile_of_counters(counters(program, runs[near], ghz))
            far_places = [place for place in range(len(memories)) if place != near_place]
            predicted = predict(
                profile=profile,
                near=devices[near_place],
                far=[devices[far_place] for far_place in far_places],
                model=MODEL,
                models=["traffic"],
            )
            for far_place, entry in zip(far_places, predicted.devices, strict=True):
                slowdowns = {model.model: model.slowdown for model in entry.total.models}
                truth = runs[memories[far_place]]["measured_cpi"] / runs[near]["measured_cpi"]
                by_direction[DIRECTIONS[far_place < near_place]].append(
                    CyclePrediction(
                        kernel=program,
                        level=f"{near} to {memories[far_place]}",
                        truth=truth,
                        predicted={MODEL: entry.total.slowdown.value, **slowdowns},
                        interval=entry.total.slowdown,
                    )
                )
    return by_direction


def counters(program: str, run: dict[str, Any], ghz: float) -> CounterProfile:
    """Return a run's counters; an interval is s, 1e9 cycles, 1e6 misses, MB read, MB written."""
    intervals = list(_intervals(run["intervals"], ghz))
    return CounterProfile(
        producer=producer(),
        file=program,
        format="csv",
        names={"llc_misses": ["LLC misses"], "read_bytes": ["bytes read"]},
        scaled={},
        intervals=intervals,
    )


def _intervals(rows: list[list[float]], ghz: float) -> Iterator[CounterInterval]:
    begin_s = 0.0
    for seconds, cycles_e9, misses_e6, read_mb, write_mb in rows:
        yield CounterInterval(
            begin_s=begin_s,
            end_s=begin_s + seconds,
            cpu_time_ns=cycles_e9 * 1e9 / ghz,
            llc_misses=misses_e6 * 1e6,
            read_bytes=read_mb * 1e6,
            write_bytes=write_mb * 1e6,
        )
        begin_s += seconds
