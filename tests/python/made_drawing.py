"""A drawing that has something for every figure of `measure`."""

from __future__ import annotations

import numpy as np
from inferred import inferred_device

from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure, LatencyFigure
from nearfar.documents.machine import JointLimit, Split
from nearfar.plots import Drawing
from nearfar.samples.evidence import Evidence
from nearfar.samples.parquet import SampleRow, summarise
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleRecord

KIB, MIB = 1 << 10, 1 << 20
SIZES = [64 * 4**power for power in range(13)]


def full_device() -> DeviceProfile:
    """Return a device with something for every figure."""
    device = inferred_device()
    had = {"how": "measured", "source": "here"}
    device.latency = [
        LatencyFigure(
            pattern="random",
            region_bytes=size,
            page_bytes=pages,
            value_ns=value * (1.0 if pages == 4096 else 0.9),
            low_ns=value * 0.85,
            high_ns=value * 1.1,
            **had,
        )
        for pages in (4096, 2 * MIB)
        for size, value in zip(SIZES, np.linspace(180, 380, len(SIZES)), strict=True)
    ] + [
        LatencyFigure(
            operation="clwb",
            instruction="store+clwb",
            region_bytes=size,
            value_ns=60.0 + 10 * number,
            **had,
        )
        for number, size in enumerate(SIZES)
    ]
    device.bandwidth = [
        BandwidthFigure(
            operation="mixed",
            read_share=share / 10,
            threads=threads,
            access_bytes=access,
            value_gb_per_s=(2 + share) * threads**0.5 * (access / 64) ** 0.1,
            **had,
        )
        for share in range(11)
        for threads in (1, 2, 4, 8)
        for access in (64, 256, 4096)
    ] + [
        BandwidthFigure(
            operation=operation,
            threads=threads,
            access_bytes=access,
            value_gb_per_s=rate * threads / (1 + 0.1 * threads),
            **had,
        )
        for operation, rate in (("read", 3.0), ("nt-store", 2.0))
        for threads in (1, 2, 4, 8)
        for access in (64, 256, 4096)
    ]
    return device


def records() -> list[SampleRecord]:
    """Return samples with single accesses, whole and summarised."""
    times = np.random.default_rng(0).lognormal(5, 0.3, 20_000).astype(np.float32)
    times[::2000] = 60_000
    short = SamplePoint("persist", "persist-clwb", 4096, KIB, each=True)
    long = SamplePoint("persist", "persist-clwb", 4096, MIB, each=True)
    return [
        SampleRecord(short, Sample(150.0, each_ns=times[:4000])),
        SampleRow(long, Sample(150.0), 0, summarise(times)),
    ]


def evidence() -> dict[str, Evidence]:
    """Return one curve over bytes with a knee, and one over writes."""
    x = np.array(SIZES, float)
    y = np.where(x <= 16 * KIB, 180.0, 300.0)
    steps = np.arange(100.0)
    return {
        "read-capacity": Evidence(
            "latency", "Read buffer: a step in latency", "region (bytes)", "ns per line",
            x, y, y * 0.95, y * 1.05, (16384.0,), y,
        ),
        "overwrite": Evidence(
            "overwrite", "Stalls", "writes", "ns", steps, steps + 1, steps, steps + 2,
            (50.0,), None, log_x=False,
        ),
    }  # fmt: skip


def joint_limit() -> JointLimit:
    """Return fifteen splits of sixteen threads."""
    return JointLimit(
        memories=("dram", "node:1"),
        alone_gb_per_s=(40.0, 20.0),
        together_gb_per_s=45.0,
        shared=True,
        splits=[
            Split(
                copies=("A->A", "A->B"),
                threads=(first, 16 - first),
                gb_per_s=(2.5 * first, 1.2 * (16 - first)),
            )
            for first in range(1, 16)
        ],
    )


def full_drawing() -> Drawing:
    """Return a drawing that every figure has something of."""
    return Drawing(full_device(), records(), evidence(), [joint_limit()])
