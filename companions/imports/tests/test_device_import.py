"""Curves from CSV: units are required, the order is kept, and mistakes are located."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.predict.loaded_latency import LoadedFactor
from nearfar_imports.csv_columns import bandwidth_factor, latency_factor
from nearfar_imports.import_curve import NO_SHARE, Units, read_curves
from nearfar_imports.import_device import DeviceDescription, import_with_notes, save_device
from nearfar_imports.importers import ImportOptions

ABOUT = DeviceDescription(name="mine", title="my memory", technology="cxl", citation="my bench")
FOLDED = """\
# a comment
bandwidth_gb_per_s,latency_ns,read_pct
0.0,250,100
10.0,260,100
20.0,400,100
19.0,600,100
0.0,251,50
25.0,500,50
"""


def import_device(
    file: Path,
    units: Units,
    about: DeviceDescription,
    *,
    shares: tuple[float, ...],
    max_points: int,
) -> DeviceProfile:
    options = ImportOptions(units, shares, max_points, about.how)
    return import_with_notes([file], options, about)[0]


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "curve.csv"
    path.write_text(text)
    return path


def _import(path: Path, units: Units | None = None, max_points: int = 30) -> object:
    return import_device(path, units or Units(), ABOUT, shares=(), max_points=max_points)


def test_families_keep_their_order_and_oddities(tmp_path: Path) -> None:
    imported = read_curves(_write(tmp_path, FOLDED), Units(), "import")
    assert [curve.read_share for curve in imported.loaded_latency] == [1.0, 0.5]
    assert imported.loaded_latency[0].points == [(0, 250), (10, 260), (20, 400), (19, 600)]
    assert imported.loaded_latency[0].oddities == ["folds back past 20 GB/s to 19 GB/s"]
    assert [figure.value_ns for figure in imported.latency] == [250]
    assert [(f.operation, f.read_share, f.value_gb_per_s) for f in imported.bandwidth] == [
        ("read", None, 20.0),
        ("mixed", 0.5, 25.0),
    ]


@pytest.mark.parametrize(
    ("header", "row", "units", "point"),
    [
        ("bandwidth [MB/s],latency [ns]", "1500,90", Units(), (1.5, 90.0)),
        ("latency_ns;bandwidth_mib_per_s", "90;1000", Units(), (1.0486, 90.0)),
        ("bandwidth,latency", "2.5,210", Units("GB/s", "cycles@2.1GHz"), (2.5, 100.0)),
        (
            "bandwidth_gbps,bandwidth_std,latency_ns,latency_std",
            "2,1,80,3",
            Units("GB/s", "ns"),
            (2, 80),
        ),
        ("bw (GB/s)\tlat (us)", "2.5\t0.3", Units(), (2.5, 300.0)),
        ("bandwidth_gbps,latency_ns,latency_cycles", "7,80,168", Units("GB/s"), (7.0, 80.0)),
    ],
)
def test_units_come_from_the_header_or_an_option(
    tmp_path: Path, header: str, row: str, units: Units, point: tuple[float, float]
) -> None:
    units = Units(units.bandwidth, units.latency, 1.0)
    path = _write(tmp_path, f"{header}\n{row}\n{row}\n")
    (curve,) = read_curves(path, units, "import").loaded_latency
    assert curve.points[0] == pytest.approx(point, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "units", "sentence"),
    [
        ("bandwidth,latency_ns\n1,2\n", Units(read_share=1), "'bandwidth' does not state its unit"),
        ("bandwidth_gbps,latency_ns\n1,2\n", Units(read_share=1), "--bandwidth-unit"),
        ("bandwidth_gb_per_s,latency\n1,2\n", Units(read_share=1), "--latency-unit"),
        ("bandwidth,latency\n1,2\n", Units(), "--bandwidth-unit, and the column 'latency'"),
        ("bandwidth_gb_per_s,latency_ns\n1,1e308\n2,9\n", Units(), "csv:2: a latency of 1e+308"),
        ("bandwidth_gb_per_s,latency_ns\n1,9\n1e300,9\n", Units(), "csv:3: a bandwidth of 1e+300"),
        ("bandwidth_gb_per_s,latency_ns\n-1,100\n2,105\n", Units(), "bandwidth of -1 GB/s is"),
        ("bandwidth_gb_per_s,latency_ns\n-1,100\n-1,105\n", Units(), "bandwidth of -1 GB/s is"),
        ("bandwidth_gb_per_s,time_ns\n1,2\n", Units(read_share=1), "no column 'latency'"),
        ("bandwidth_gb_per_s,latency_ns\n1,x\n", Units(read_share=1), "csv:2: column 'latency_ns'"),
        ("bandwidth_gb_per_s,latency_ns\n1,nan\n", Units(read_share=1), "not a number"),
        ("bandwidth_gb_per_s,latency_ns\n1,0\n", Units(read_share=1), "csv:2: a latency of 0 ns"),
        ("bandwidth_gb_per_s,latency_ns\n1,2,3\n", Units(read_share=1), "csv:2: 3 values"),
        ("bandwidth_gb_per_s,latency_ns\n1,2\n", Units(read_share=1), "a single point"),
        ("bandwidth_gb_per_s,latency_ns\n", Units(read_share=1), "no rows"),
        ("bandwidth_gb_per_s,latency_ns,read_share\n1,2,50\n", Units(), "read share of 50"),
        ("# nothing\n", Units(), "is empty"),
    ],
)
def test_a_mistake_is_refused_in_one_sentence(
    tmp_path: Path, text: str, units: Units, sentence: str
) -> None:
    with pytest.raises(NearfarError) as refusal:
        _import(_write(tmp_path, text), units)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_missing_facts_are_assumed_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "My CXL (2).csv"
    path.write_text("bandwidth_gb_s,latency_ns\n-0.01,200\n9,250\n")
    device = import_device(path, Units(), DeviceDescription(), shares=(), max_points=30)
    assert (device.name, device.title, device.technology) == ("my-cxl-2", "my-cxl-2", "other")
    assert "imported from My CXL (2).csv" in device.sources["import"].citation
    (curve,) = device.loaded_latency
    assert (curve.read_share, curve.note) == (1.0, NO_SHARE)
    assert curve.points[0] == (-0.01, 200)
    stated = import_device(
        path, Units(read_share=1.0), DeviceDescription(), shares=(), max_points=30
    )
    assert stated.loaded_latency[0].note == ""


def test_points_at_one_bandwidth_are_an_anomaly(tmp_path: Path) -> None:
    path = _write(tmp_path, "bandwidth_gb_per_s,latency_ns\n1,100\n1,100\n1,120\n")
    (curve,) = read_curves(path, Units(), "import").loaded_latency
    assert "all 3 points are at one bandwidth (1 GB/s)" in curve.oddities


def test_ambiguous_units_are_refused() -> None:
    assert bandwidth_factor("gb_per_s") == 1.0
    assert latency_factor("cycles@2GHz") == 0.5
    for unit in ("Gbps", "Gb/s", "gb/s", "fortnights", ""):
        with pytest.raises(NearfarError, match="bandwidth unit"):
            bandwidth_factor(unit)
    for unit in ("cycles", "cycles@0GHz", "ms per"):
        with pytest.raises(NearfarError, match="latency unit"):
            latency_factor(unit)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_written_device_reads_back_equal(tmp_path: Path, ending: str) -> None:
    device = import_device(_write(tmp_path, FOLDED), Units(), ABOUT, shares=(0.9,), max_points=30)
    assert [curve.read_share for curve in device.loaded_latency] == [1.0]
    path = tmp_path / f"mine.{ending}"
    save_device(device, path)
    assert load_device(str(path)) == device


def test_too_few_points_and_unknown_suffixes_are_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, FOLDED)
    with pytest.raises(NearfarError, match="at least 8"):
        _import(path, max_points=7)
    device = import_device(path, Units(), ABOUT, shares=(), max_points=8)
    with pytest.raises(NearfarError, match=r"\.toml or \.json"):
        save_device(device, tmp_path / "mine.yaml")
    assert not (tmp_path / "mine.yaml").exists()


def _rows_of(curve: list[tuple[float, float]], share: int) -> list[str]:
    return [f"{bandwidth},{latency},{share}" for bandwidth, latency in curve]


def _same_in_any_order(tmp_path: Path, header: str, rows: list[str]) -> None:
    lists = [rows, rows[::-1]]
    for seed in range(5):
        lists.append(random.Random(seed).sample(rows, len(rows)))
    made = []
    for listed in lists:
        path = _write(tmp_path, "\n".join([header, *listed]) + "\n")
        device = import_device(path, Units(), ABOUT, shares=(), max_points=12)
        made.append((device.latency, device.bandwidth, device.loaded_latency))
    assert all(figures == made[0] for figures in made[1:])


@pytest.mark.parametrize("seed", range(8))
def test_rows_in_any_order_give_one_device(tmp_path: Path, seed: int) -> None:
    """Curves with noise, dips and folds: forwards, backwards and shuffled."""
    chance = random.Random(seed)
    rows = []
    for share in (100, 75, 50):
        loads = [chance.uniform(0, 100) for _ in range(20)]
        loads += [chance.uniform(80, 99) for _ in range(chance.randrange(6))]
        curve = [(load, 100 / (1.02 - load / 110) * chance.uniform(0.97, 1.03)) for load in loads]
        curve += [(100.0, 600.0), *((99 - i, 650.0 + 50 * i) for i in range(chance.randrange(4)))]
        rows += _rows_of(curve, share)
    _same_in_any_order(tmp_path, "bandwidth_gb_per_s,latency_ns,rd_percentage", rows)


def test_a_falling_curve_is_reversed(tmp_path: Path) -> None:
    """MLC and Mess 1.0 list the highest load first; a fold stays a fold."""
    text = "delay,latency_ns,bandwidth_gb_per_s\n0,600,19\n2,400,20\n50,260,10\n20000,250,0.1\n"
    imported = read_curves(_write(tmp_path, text), Units(read_share=1.0), "import")
    assert imported.loaded_latency[0].points == [(0.1, 250), (10, 260), (20, 400), (19, 600)]
    without = "\n".join(line.split(",", 1)[1] for line in text.split()) + "\n"
    again = read_curves(_write(tmp_path, without), Units(read_share=1.0), "import")
    assert again.loaded_latency == imported.loaded_latency


def test_a_falling_curve_of_a_saved_device_loads_memory_too(tmp_path: Path) -> None:
    """A saved device with the highest load first predicts like one with the lowest first."""
    device = import_device(_write(tmp_path, FOLDED), Units(), ABOUT, shares=(1.0,), max_points=30)
    (curve,) = device.loaded_latency
    turned = msgspec.structs.replace(curve, points=curve.points[::-1])
    factors = [LoadedFactor.of(c) for c in (curve, turned)]
    assert factors[0].greatest == factors[1].greatest == 400 / 250


def test_mess_1_names_the_read_share_rd_percentage(tmp_path: Path) -> None:
    text = "rd_percentage,bandwidth_gb_per_s,latency_ns\n100,1,90\n100,9,95\n50,1,90\n50,7,120\n"
    imported = read_curves(_write(tmp_path, text), Units(), "import")
    assert [curve.read_share for curve in imported.loaded_latency] == [1.0, 0.5]


def test_shares_without_a_share_column_are_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, "bandwidth_gb_per_s,latency_ns\n1,90\n9,95\n")
    with pytest.raises(NearfarError, match=r"no column of them.*--read-share"):
        read_curves(path, Units(), "import", shares=(1.0, 0.5))


def test_a_bad_row_is_left_out_and_counted(tmp_path: Path) -> None:
    """Kunpeng 920's curves begin at -2.4 GB/s; a truncated file ends with half a row."""
    rows = [f"{load},{90 + load},100" for load in range(30)]
    header = "bandwidth_gb_per_s,latency_ns,read_pct"
    good = read_curves(_write(tmp_path, "\n".join([header, *rows])), Units(), "import")
    for bad, reason in (("-2.4,98,100", "bandwidth of -2.4 GB/s"), ("7,9", "2 values")):
        imported = read_curves(_write(tmp_path, "\n".join([header, *rows, bad])), Units(), "x")
        assert imported.latency[0].value_ns == good.latency[0].value_ns
        (note,) = imported.notes
        assert note.startswith("left out 1 bad row of 31 in curve.csv: ")
        assert reason in note
    with pytest.raises(NearfarError, match=r"5 of 35 rows are bad"):
        read_curves(_write(tmp_path, "\n".join([header, *rows, *["x,1,2"] * 5])), Units(), "x")
