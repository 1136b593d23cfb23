"""The policy prober: repeated stores to the same region, and stores in order.

Overwrite: stores to the same small region are repeated, each timed with its fence. A device that
moves worn blocks stalls occasionally; the stalls appear in the tail. Sequential persists by access
size: if the device combines stores, the time per access steps at the device's block size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.samples.point import SamplePoint
from nearfar_like.lens.probe import LensProbe, size_name

REGIONS = (2048, 4096, 65536, 1 << 20)
"""Region sizes, bytes; the smallest has eight accesses."""
PERCENTILES = (50.0, 99.0, 99.9, 99.99)
ACCESSES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
KINDS = ("persist-nt-store", "persist-clwb")

MIN_STALL_RATIO = 10.0
"""Multiple of the median above which an access counts as a stall: interrupts and refresh stay
below. `infer` confirms a stall by its period."""


def run(probe: LensProbe) -> dict[str, Any]:
    """Print the tails of overwriting, and sequential persists by access size."""
    tables: dict[str, Any] = {"overwrite": [], "sequential": []}
    if probe.has("overwrite", "the overwrite test"):
        _overwrite(probe, tables)
    kinds = [kind for kind in KINDS if probe.has(f"{kind}-sequential", f"sequential {kind}")]
    if kinds:
        _sequential(probe, tables, kinds)
    return tables


def _overwrite(probe: LensProbe, tables: dict[str, Any]) -> None:
    probe.say(f"Policy prober: {probe.writes} stores of 256 B over the same region, ns each")
    columns = [*(f"p{percentile:g}" for percentile in PERCENTILES), "max", "stalls", "every"]
    probe.table("region", columns, 11)
    for region in (size for size in REGIONS if size <= probe.largest_bytes):
        point = SamplePoint(
            "overwrite",
            "overwrite",
            probe.page_bytes,
            region,
            access_bytes=256,
            each=True,
            accesses=probe.writes,
        )
        each_ns = probe.sample(point).each_ns
        if each_ns is None or not len(each_ns):
            probe.note("single accesses are not timed here: the overwrite test is left out")
            return
        values = [float(value) for value in np.percentile(each_ns, PERCENTILES)]
        stalls = np.flatnonzero(each_ns > MIN_STALL_RATIO * values[0])
        stores_between = float(np.median(np.diff(stalls))) if len(stalls) > 1 else None
        row: list[float | None] = [
            *values,
            float(each_ns.max()),
            float(len(stalls)),
            stores_between,
        ]
        probe.row(size_name(region), row, 0, 11)
        tables["overwrite"].append(
            {
                "region_bytes": region,
                "accesses": len(each_ns),
                **{
                    f"p{percentile:g}_ns": value
                    for percentile, value in zip(PERCENTILES, values, strict=True)
                },
                "max_ns": float(each_ns.max()),
                "stalls": len(stalls),
                "stores_between_stalls": stores_between,
            }
        )


def _sequential(probe: LensProbe, tables: dict[str, Any], kinds: list[str]) -> None:
    probe.say("")
    probe.say("Policy prober: stores in order, each made durable and fenced, ns an access")
    probe.table("access", [kind.removeprefix("persist-") for kind in kinds], 11)
    for size in ACCESSES:
        values: list[float | None] = []
        for kind in kinds:
            point = SamplePoint(
                "persist",
                f"{kind}-sequential",
                probe.page_bytes,
                probe.largest_bytes,
                access_bytes=size,
            )
            value = probe.value(point)
            values.append(value)
            tables["sequential"].append({"kernel": kind, "access_bytes": size, "value_ns": value})
        probe.row(size_name(size), values, 1, 11)
