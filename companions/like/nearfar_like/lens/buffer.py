"""The buffer prober: latency over region and block. A step shows a buffer of the device.

A chase visits the lines of a block in turn and the blocks at random. If a device reads blocks of
256 bytes into a buffer, the lines after the first of a block come from the buffer: the latency per
line falls until the chase's block is as large as the device's. LENS calls the ratio amplification.
"""

from __future__ import annotations

from typing import Any

from nearfar.samples.point import SamplePoint
from nearfar_like.lens.probe import LensProbe, size_name

BLOCKS = (64, 128, 256, 512, 1024, 2048, 4096)
"""Block sizes that LENS uses, bytes."""

MIN_BLOCKS = 8
"""Fewest blocks in a region for a random order to have an effect."""

PERSIST = "persist-nt-store"


def run(probe: LensProbe) -> dict[str, Any]:
    """Print reads by region and block, amplification, and stores made durable by region."""
    tables: dict[str, Any] = {"read": [], "amplification": [], "persist": []}
    if probe.has("chase", "latency of reads"):
        _reads(probe, tables)
    if probe.has(PERSIST, "latency of stores made durable"):
        _writes(probe, tables)
    return tables


def _reads(probe: LensProbe, tables: dict[str, Any]) -> None:
    probe.say("Buffer prober: read latency, ns a line, by region and block (bytes)")
    probe.table("region", [size_name(block) for block in BLOCKS])
    for region in probe.regions(4096):
        values: list[float | None] = []
        for block in BLOCKS:
            if MIN_BLOCKS * block > region:
                values.append(None)
                continue
            point = SamplePoint(
                "amplification", "chase", probe.page_bytes, region, access_bytes=block
            )
            value = probe.value(point)
            values.append(value)
            tables["read"].append({"region_bytes": region, "block_bytes": block, "value_ns": value})
        probe.row(size_name(region), values)
    largest_region = [row for row in tables["read"] if row["region_bytes"] == probe.largest_bytes]
    probe.say("")
    probe.say("Read amplification: ns of a line alone over ns of a line in a block, largest region")
    probe.say("(lines of a block are read in turn: what the processor prefetches of it counts too)")
    probe.table("block", ["x"])
    for row in largest_region:
        ratio = largest_region[0]["value_ns"] / row["value_ns"]
        probe.row(size_name(row["block_bytes"]), [ratio], 2)
        tables["amplification"].append({"block_bytes": row["block_bytes"], "ratio": ratio})


def _writes(probe: LensProbe, tables: dict[str, Any]) -> None:
    probe.say("")
    probe.say(f"Buffer prober: {PERSIST} and fence, ns an access, by region and access (bytes)")
    sizes = (64, 256, 1024, 4096)
    probe.table("region", [size_name(size) for size in sizes])
    for region in probe.regions(4096, step=4):
        values: list[float | None] = []
        for size in sizes:
            if MIN_BLOCKS * size > region:
                values.append(None)
                continue
            point = SamplePoint("persist", PERSIST, probe.page_bytes, region, access_bytes=size)
            value = probe.value(point)
            values.append(value)
            tables["persist"].append(
                {"region_bytes": region, "access_bytes": size, "value_ns": value}
            )
        probe.row(size_name(region), values)
