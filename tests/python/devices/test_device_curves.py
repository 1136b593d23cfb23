"""Figures that models take from a device: the best one, its substitute, or a refusal."""

from __future__ import annotations

import msgspec
import pytest
import samples

from nearfar.base.errors import NearfarError
from nearfar.devices import curves
from nearfar.documents.device import BandwidthFigure, ChainsFigure, LatencyFigure, Operation

HAD = {"how": "measured", "source": "here"}


def test_idle_latency_is_that_of_the_largest_region_or_else_the_first() -> None:
    device = samples.device()
    device.latency = [
        LatencyFigure(region_bytes=1 << 20, value_ns=200.0, **HAD),
        LatencyFigure(value_ns=305.0, **HAD),
        LatencyFigure(value_ns=425.0, **HAD),
        LatencyFigure(pattern="sequential", value_ns=500.0, **HAD),
    ]
    assert curves.idle_read_latency_ns(device).value_ns == 305.0
    del device.latency[1:3]
    assert curves.idle_read_latency_ns(device).value_ns == 200.0
    device.latency.clear()
    assert curves.idle_read_latency_ns(device).note.startswith("stands in for the idle latency")
    device.loaded_latency.clear()
    with pytest.raises(NearfarError, match="'near' lacks an idle random read latency"):
        curves.idle_read_latency_ns(device)


def test_bandwidth_is_the_best_or_that_of_few_threads() -> None:
    device = samples.device()
    device.bandwidth = [
        BandwidthFigure(threads=threads, value_gb_per_s=value, **HAD)
        for threads, value in ((1, 5.0), (4, 18.0), (8, 16.0))
    ]
    assert curves.bandwidth(device, "read").value_gb_per_s == 18.0
    assert curves.bandwidth(device, "read", threads=1).value_gb_per_s == 5.0
    assert curves.bandwidth(device, "read", threads=3).value_gb_per_s == 5.0
    assert curves.bandwidth(device, "read", "random").note.startswith("stands in for random read")


@pytest.mark.parametrize(
    ("required", "available", "stands_in"),
    [
        ("write", ["nt-store", "mixed", "clwb", "read"], "nt-store"),
        ("write", ["mixed", "clwb", "read"], "mixed"),
        ("write", ["clwb", "read"], "clwb"),
        ("nt-store", ["write", "mixed"], "write"),
        ("copy", ["mixed", "read"], "mixed"),
        ("nt-store", ["read"], "read"),
        ("read", ["write"], "write"),
    ],
)
def test_the_nearest_kind_substitutes_and_is_reported(
    required: Operation, available: list[Operation], stands_in: Operation
) -> None:
    device = samples.device()
    device.bandwidth = [
        BandwidthFigure(operation=operation, value_gb_per_s=9.0, note="of old", **HAD)
        for operation in available
    ]
    figure = curves.bandwidth(device, required)
    assert (figure.operation, figure.how) == (stands_in, "assumed")
    assert f"stands in for sequential {required}" in figure.note
    assert figure.note.endswith("of old")


def test_among_mixes_reads_take_the_most_reads_and_writes_the_fewest() -> None:
    device = samples.device()
    device.bandwidth = [
        BandwidthFigure(operation="mixed", read_share=share, value_gb_per_s=value, **HAD)
        for share, value in ((0.75, 30.0), (0.5, 40.0))
    ]
    assert curves.bandwidth(device, "read").read_share == 0.75
    assert curves.bandwidth(device, "write").read_share == 0.5
    assert "50% reads" in curves.bandwidth(device, "write").note


def test_a_bandwidth_without_a_similar_kind_is_refused() -> None:
    device = samples.device()
    device.bandwidth.clear()
    device.loaded_latency.clear()
    with pytest.raises(NearfarError, match="lacks a bandwidth for write"):
        curves.bandwidth(device, "write")


def test_a_curve_alone_gives_its_best_bandwidth_and_reports_it() -> None:
    device = samples.device(read_gb_per_s=12.0)
    device.bandwidth.clear()
    curve = curves.bandwidth(device, "nt-store")
    assert (curve.value_gb_per_s, curve.operation, curve.how) == (12.0, "read", "assumed")
    assert curve.note == "stands in for sequential nt-store: the best of the curve at 100% reads"


def test_chains_have_a_value_per_count_at_the_largest_page_size() -> None:
    device = samples.device()
    device.chains = [
        ChainsFigure(chains=2, page_bytes=2 << 20, value_ns=50.0, **HAD),
        ChainsFigure(chains=2, page_bytes=4096, value_ns=60.0, **HAD),
        ChainsFigure(chains=1, value_ns=100.0, **HAD),
    ]
    assert [(c.chains, c.value_ns) for c in curves.chains(device)] == [(1, 100.0), (2, 50.0)]
    device.chains = []
    assert curves.chains(device) == []


def test_the_nearest_loaded_curve() -> None:
    device = samples.device()
    half = msgspec.structs.replace(device.loaded_latency[0], read_share=0.5)
    device.loaded_latency.append(half)
    curve = curves.loaded_curve(device, 0.6)
    assert curve is not None
    assert curve.read_share == 0.5
    device.loaded_latency.clear()
    assert curves.loaded_curve(device, 0.6) is None
