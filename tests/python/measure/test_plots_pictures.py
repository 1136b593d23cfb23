"""The pictures: every figure draws existing data with units, and nothing else."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import samples
from made_drawing import KIB, MIB, SIZES, evidence, full_device, full_drawing
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure, LatencyFigure
from nearfar.plots import PICTURES, Drawing, panels_of, plot
from nearfar.plots import _axes as helpers
from nearfar.plots.tails import tail_of
from nearfar.samples.parquet import SampleRow, summarise
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleRecord


def _drawn(panel_title: str, drawing: Drawing) -> Axes:
    (panel,) = (panel for panel in panels_of(drawing) if panel_title in panel.title)
    axes: Axes = Figure().subplots()
    panel.draw(axes)
    return axes


@pytest.mark.parametrize("name", PICTURES.names())
def test_every_figure_draws_with_named_axes_and_a_legend_below(name: str) -> None:
    panels = panels_of(full_drawing(), [name])
    assert panels
    for panel in panels:
        axes = Figure().subplots()
        panel.draw(axes)
        axes.figure.canvas.draw()
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.has_data()
        legend = axes.get_legend()
        if legend is not None:
            box = legend.get_window_extent()
            assert box.y1 <= axes.get_window_extent().y0, "the legend must not cover data"


@pytest.mark.parametrize("name", PICTURES.names())
def test_no_figure_draws_missing_data(name: str) -> None:
    bare = samples.device()
    bare.latency, bare.bandwidth, bare.chains, bare.loaded_latency = [], [], [], []
    assert panels_of(Drawing(bare), [name]) == []


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_the_same_data_give_the_same_file(tmp_path: Path, ending: str) -> None:
    first, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for path in (first, two):
        plot(full_device(), path, kinds=["latency"])
    assert first.read_bytes() == two.read_bytes()


def test_all_data_fit_into_one_picture(tmp_path: Path) -> None:
    drawing = full_drawing()
    titles = plot(
        drawing.device,
        tmp_path / "all.png",
        records=drawing.records,
        evidence=drawing.evidence,
        joint_limits=drawing.joint_limits,
    )
    assert len(titles) > 10
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_knees_are_drawn_at_their_inferred_position_with_their_interval() -> None:
    axes = _drawn("Idle read latency", full_drawing())
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"] == [16384]
    assert "first buffer 16 KiB" in [text.get_text() for text in axes.texts]
    (band,) = [p for p in axes.patches if p.get_width() == (20 - 14) * KIB]
    assert band.get_x() == 14 * KIB
    queue = _drawn("Idle write latency", full_drawing())
    assert "write queue 4 KiB" in [text.get_text() for text in queue.texts]


def test_a_region_measured_twice_is_drawn_once_and_strides_separately() -> None:
    device = full_device()
    device.latency = [
        LatencyFigure(
            region_bytes=size, stride_bytes=stride, value_ns=ns, how="measured", source="here"
        )
        for size, stride, ns in (
            (KIB, None, 200.0), (MIB, None, 300.0), (MIB, None, 160.0), (KIB, 256, 210.0),
            (MIB, 256, 310.0),
        )
    ]  # fmt: skip
    axes = _drawn("Idle read latency", Drawing(device))
    drawn = {
        line.get_label(): list(line.get_ydata())
        for line in axes.lines
        if line.get_linestyle() == "-"
    }
    assert drawn == {
        "random load": [200.0, 300.0],
        "random load, one in 256 B": [210.0, 310.0],
    }


def test_tails_are_distinguished_and_named_in_words() -> None:
    times = np.random.default_rng(0).lognormal(5, 0.3, 1000).astype(np.float32)
    points = [
        SamplePoint("overwrite", "overwrite", 4096, 256, each=True, accesses=accesses, rest_ns=rest)
        for accesses, rest in ((3220, 0.0), (60_000, 0.0), (60_000, 131.5))
    ]
    drawing = Drawing(
        full_device(), [SampleRecord(point, Sample(150.0, each_ns=times)) for point in points]
    )
    axes = _drawn("Tails of persisted writes to one place", drawing)
    labels = [line.get_label() for line in axes.lines]
    assert len(set(labels)) == 3
    assert labels[0] == "3,220 accesses"
    assert labels[2] == "rest 132 ns, 60,000 accesses"


def _marked(title: str, drawing: Drawing) -> tuple[list[float], set[str], str]:
    """Return the marked knees, the line labels and the note of the panel `title`."""
    (panel,) = (each for each in panels_of(drawing, ["evidence"]) if title in each.title)
    axes: Axes = Figure().subplots()
    panel.draw(axes)
    knees = [float(line.get_xdata()[0]) for line in axes.lines if line.get_linestyle() == ":"]
    return knees, {str(line.get_label()) for line in axes.lines}, panel.note


def _seen(**replaced: object) -> DeviceProfile:
    device = full_device()
    device.buffers = [msgspec.structs.replace(device.buffers[0], **replaced)]
    return device


def test_evidence_is_marked_at_the_profiles_values() -> None:
    device = _seen(evidence="read-capacity", capacity_bytes=15 << 10)
    device.write_queues = [
        msgspec.structs.replace(device.write_queues[0], evidence="write-queue", capacity_bytes=4096)
    ]
    device.stalls = [msgspec.structs.replace(device.stalls[0], evidence="overwrite")]
    queue = replace(evidence()["overwrite"], title="Bursts", knees=(104.0,))
    drawing = Drawing(device, evidence={**evidence(), "write-queue": queue})
    assert _marked("Read buffer", drawing)[0] == [15 << 10]
    knees, _, note = _marked("Bursts", drawing)
    assert knees == [64.0], "4 KiB are 64 lines"
    assert note == "a burst waits from 104 lines on: 40 drain while it is written"
    knees, _, note = _marked("Stalls", drawing)
    assert knees == [50.0]
    assert note == "stalls of 60 us every 14,000 writes"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("read-capacity", "buffers"),
        ("write-capacity", "write buffers"),
        ("write-queue", "write queue"),
        ("interleave-read-strided", "interleave"),
        ("amplification-first-buffer", "block of first buffer"),
        ("overwrite", "stalls"),
    ],
)
def test_missing_quantities_are_grey_with_a_reason(name: str, key: str) -> None:
    device = _seen(evidence="", block_bytes=None, capacity_bytes=1 << 30)
    device.write_queues, device.interleaves, device.stalls = [], [], []
    device.not_seen = {key: "in only 70% of resamples"}
    curve = replace(evidence()["read-capacity"], title="It")
    knees, labels, note = _marked("It", Drawing(device, evidence={name: curve}))
    assert knees == []
    assert "fitted, no answer" in labels
    assert "as the answer predicts" not in labels
    assert note == "not seen: in only 70% of resamples"


def test_each_panel_gives_its_own_reason_for_a_missing_interleave() -> None:
    device = full_device()
    device.interleaves = []
    device.not_seen = {
        "interleave": "nt-store-strided: too few; 3 of 9 disturbed; read-strided: all the same"
    }
    curve = evidence()["read-capacity"]
    drawn = {
        f"interleave-{kernel}": replace(curve, title=kernel)
        for kernel in ("nt-store-strided", "read-strided")
    }
    drawing = Drawing(device, evidence=drawn)
    assert _marked("nt-store-strided", drawing)[2] == "not seen: too few; 3 of 9 disturbed"
    assert _marked("read-strided", drawing)[2] == "not seen: all the same"


def test_writes_name_the_buffer_that_reads_showed() -> None:
    curve = replace(evidence()["read-capacity"], title="Writes", knees=(float(14 << 10),))
    drawing = Drawing(full_device(), evidence={"write-capacity": curve})
    assert _marked("Writes", drawing)[0] == [16 << 10]
    far = replace(curve, knees=(float(1 << 20),))
    assert _marked("Writes", Drawing(full_device(), evidence={"write-capacity": far}))[0] == []


def test_noise_does_not_fill_a_panel() -> None:
    flat = replace(evidence()["read-capacity"], y=np.full(len(SIZES), 0.55), fitted=None)
    axes = _drawn("Read buffer", Drawing(full_device(), evidence={"read-capacity": flat}))
    low, high = axes.get_ylim()
    assert high - low > 0.3 * 0.55


def test_a_line_of_bandwidth_changes_only_its_x() -> None:
    device = full_device()
    had = {"pattern": "random", "how": "measured", "source": "here"}
    device.bandwidth = [
        BandwidthFigure(threads=threads, access_bytes=size, value_gb_per_s=rate, **had)
        for threads, size, rate in (
            (1, 64, 0.75), (24, 64, 1.6), (24, 256, 6.4), (24, 4096, 6.5), (None, 64, 1.6),
        )
    ]  # fmt: skip
    (line,) = _drawn("Bandwidth by threads", Drawing(device)).lines
    assert list(line.get_ydata()) == [0.75, 1.6], "larger accesses are no more threads"
    assert line.get_label() == "random read, 64 B"
    (line,) = _drawn("Bandwidth by access size", Drawing(device)).lines
    assert list(line.get_ydata()) == [1.6, 6.4, 6.5]
    assert line.get_label() == "random read, 24 threads"


def test_the_plane_has_one_access_size_and_no_stores_that_read_their_line() -> None:
    drawing = full_drawing()
    stores = msgspec.structs.replace(
        drawing.device.bandwidth[0], operation="write", read_share=None, value_gb_per_s=999.0
    )
    drawing.device.bandwidth.append(stores)
    axes = _drawn("Traffic by reads and threads, sequential, 64 B", drawing)
    (image,) = axes.images
    grid = np.asarray(image.get_array())
    assert grid.shape == (4, 11)
    # For pure reads of 64 B, the larger of the mix with 100 % reads and the read kernel counts.
    assert grid[3, 10] == pytest.approx(max(12 * 8**0.5, 3 * 8 / 1.8))
    assert grid.max() < 999
    assert [label.get_text() for label in axes.get_xticklabels()][::5] == ["0%", "50%", "100%"]
    axes = _drawn("Traffic by reads and access size, sequential, 1 thread", drawing)
    assert np.asarray(axes.images[0].get_array())[2, 0] == pytest.approx(2 * 64**0.1)


def test_the_tail_of_a_summary_is_that_of_all_accesses() -> None:
    times = np.random.default_rng(0).lognormal(5, 0.5, 50_000).astype(np.float32)
    point = SamplePoint("persist", "persist-clwb", 4096, KIB, each=True)
    whole = tail_of([SampleRecord(point, Sample(1.0, each_ns=times))])
    kept = tail_of([SampleRow(point, Sample(1.0), 0, summarise(times))])
    for share in (0.5, 0.1, 1e-2, 1e-3, 1e-4):
        at = [float(np.interp(-share, -beyond, result)) for result, beyond in (whole, kept)]
        assert at[1] == pytest.approx(at[0], rel=0.01)


def test_percentiles_without_accesses_beyond_them_are_not_drawn() -> None:
    drawing = full_drawing()
    names = {line.get_label() for line in _drawn("Percentiles", drawing).lines}
    assert names == {"p50", "p90", "p99", "p99.9", "p99.99"}
    (curve,) = drawing.device.loaded_latency
    few = [msgspec.structs.replace(tail, accesses=1000) for tail in curve.tails]
    drawing.device.loaded_latency[0] = msgspec.structs.replace(curve, tails=few)
    names = {line.get_label() for line in _drawn("Percentiles", drawing).lines}
    assert names == {"p50", "p90", "p99"}


def test_a_split_stacks_both_rates() -> None:
    axes = _drawn("A->A beside A->B", full_drawing())
    tops = [patch.get_y() + patch.get_height() for patch in axes.patches]
    assert max(tops) == pytest.approx(2.5 * 15 + 1.2)
    assert axes.get_xticklabels()[0].get_text() == "1+15"


@pytest.mark.parametrize(
    ("size", "text"),
    [(64, "64 B"), (4096, "4 KiB"), (MIB, "1 MiB"), (1536, "1.5 KiB"), (1 << 40, "1 TiB")],
)
def test_sizes_are_printed_with_usual_units(size: int, text: str) -> None:
    assert helpers.size_text(size) == text


def test_size_ticks_are_few_and_even() -> None:
    for low, high in ((64, 4096), (1, 1 << 40), (16 * KIB, 16 * KIB), (100, 1 << 31)):
        ticks = helpers.size_ticks(low, high)
        assert len(ticks) <= helpers.MAX_TICKS
        assert all(low <= tick <= high for tick in ticks)
        assert len({b // a for a, b in itertools.pairwise(ticks)}) <= 1


def test_unknown_figures_and_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match="did you mean 'chains'"):
        plot(full_device(), tmp_path / "x.png", kinds=["chain"])
    with pytest.raises(NearfarError, match="must end in"):
        plot(full_device(), tmp_path / "x.jpg")
    with pytest.raises(NearfarError, match="holds nothing to draw of the kind splits"):
        plot(full_device(), tmp_path / "x.png", kinds=["splits"])
    assert list(tmp_path.iterdir()) == []
