"""A made-up measured device with every inferred quantity."""

from __future__ import annotations

import samples

from nearfar.documents import DeviceProfile
from nearfar.documents.device import (
    BufferFigure,
    Drift,
    InterleaveFigure,
    LoadedLatencyCurve,
    MeasuredContext,
    ProtocolResult,
    StallFigure,
    Tail,
    WriteQueueFigure,
)


def _tail(gb_per_s: float, p50_ns: float) -> Tail:
    return Tail(
        bandwidth_gb_per_s=gb_per_s,
        p50_ns=p50_ns,
        p90_ns=p50_ns * 1.2,
        p99_ns=p50_ns * 2,
        p99_9_ns=p50_ns * 4,
        p99_99_ns=p50_ns * 9,
        accesses=100_000,
    )


def inferred_device() -> DeviceProfile:
    """Return a measured device with all inferred quantities."""
    device: DeviceProfile = samples.device()
    (source, *_) = device.sources
    device.buffers = [
        BufferFigure(
            how="measured",
            source=source,
            name="first buffer",
            capacity_bytes=16 << 10,
            capacity_low_bytes=14 << 10,
            capacity_high_bytes=20 << 10,
            block_bytes=256,
            ways=64,
            replacement="other",
            latency_ns=180.5,
            confidence=0.97,
            evidence="latency-read",
        )
    ]
    device.write_queues = [
        WriteQueueFigure(
            how="measured", source=source, capacity_bytes=4096, drained_ns_per_line=110.0
        )
    ]
    device.interleaves = [
        InterleaveFigure(how="measured", source=source, granularity_bytes=4096, devices=6)
    ]
    device.stalls = [
        StallFigure(
            how="measured",
            source=source,
            length_ns=60e3,
            length_low_ns=49e3,
            length_high_ns=61e3,
            period_writes=14_000,
            low=9500,
            high=18_000,
            granularity_bytes=256,
        )
    ]
    device.not_seen = {"replacement of the second buffer": "too few sets fit"}
    device.loaded_latency = [
        LoadedLatencyCurve(
            how="measured",
            source=source,
            read_share=0.5,
            instruction="store+clwb",
            points=[(1.0, 100.0), (5.0, 140.0)],
            tails=[_tail(1.0, 95.0), _tail(5.0, 130.0)],
        )
    ]
    device.measured = MeasuredContext(
        memory_spec="dram",
        repetitions=5,
        seconds=1.0,
        noise_floor=0.01,
        timer_resolution_ns=0.5,
        cpus=[0, 1],
        llc_bytes=32 << 20,
        environment={"governor": "performance"},
        ended="narrow",
        protocols=[ProtocolResult(name="timed", value_ns=429.0, attributed={"timer": 60.0})],
        drift=[
            Drift(
                figure="idle",
                before=87.8,
                now=185.7,
                unit="ns",
                since="2026-01-01T00:00:00+00:00",
                beyond_noise=True,
            )
        ],
    )
    return device
