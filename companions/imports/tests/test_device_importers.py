"""Outputs of other tools: recognised, parsed with their units, refused with file and line.

Files in importing/ are constructed in the layout that the tools document or print, except likwid-
bench-run-here.txt, which that tool printed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.curves import bandwidth, idle_read_latency_ns
from nearfar.devices.library import load_device
from nearfar.documents.device import BandwidthFigure
from nearfar_imports.import_curve import Units
from nearfar_imports.import_device import DeviceDescription, import_with_notes
from nearfar_imports.importers import IMPORTERS, ImportedFigures, ImportOptions, detect, read_any

FOLDER = Path(__file__).parent / "importing"
AT_2_1 = ImportOptions(Units(latency="cycles@2.1GHz"))
AT_2_3 = ImportOptions(Units(latency="cycles@2.3GHz"))

FORMATS = {
    "mlc-constructed.txt": ("mlc", ImportOptions()),
    "mlc-idle-constructed.txt": ("mlc", ImportOptions()),
    "mess-1-constructed": ("mess-1", AT_2_1),
    "mess-1-constructed/bwlat_100.txt": ("mess-1", AT_2_1),
    "mess-2-constructed.csv": ("mess-2", ImportOptions()),
    "mess-2-constructed.json": ("curves-json", ImportOptions()),
    "profet-constructed.json": ("curves-json", AT_2_3),
    "multiload-constructed.txt": ("multichase", ImportOptions()),
    "likwid-bench-run-here.txt": ("likwid-bench", ImportOptions()),
    "stream-constructed.txt": ("stream", ImportOptions()),
    "perma-constructed.json": ("perma", ImportOptions()),
    "load-table-constructed.csv": ("load-table", ImportOptions()),
}


def _read(name: str, options: ImportOptions | None = None) -> ImportedFigures:
    imported, _ = read_any(FOLDER / name, options or FORMATS[name][1])
    return imported


def _rates(imported: ImportedFigures, operation: str) -> list[tuple[float | None, float]]:
    return [
        (figure.read_share, figure.value_gb_per_s)
        for figure in imported.bandwidth
        if figure.operation == operation
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognised_by_exactly_one_importer(name: str) -> None:
    assert detect(FOLDER / name) == FORMATS[name][0]


def test_every_format_has_a_test_file() -> None:
    assert set(IMPORTERS.names()) - {"csv"} == {name for name, _ in FORMATS.values()}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_a_device_that_is_saved_and_shown(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.toml"
    command = ["device", "import", str(FOLDER / name), "-o", str(out)]
    unit = FORMATS[name][1].units.latency
    command += ["--latency-unit", unit] if unit else []
    assert main(command) == ExitCode.DONE
    assert f"from {FORMATS[name][0]}" in capsys.readouterr().out
    device = load_device(str(out))
    assert device.latency or device.bandwidth
    assert main(["device", "show", str(out)]) == ExitCode.DONE


def test_mlc_tables_and_nodes() -> None:
    imported = _read("mlc-constructed.txt")
    assert imported.latency[0].value_ns == 80.5
    assert imported.latency[0].pattern == "sequential"
    assert _rates(imported, "read")[:2] == [(None, 100.0), (None, 100.0)]
    assert _rates(imported, "nt-store") == [(None, 45.0)]
    assert (0.75, 90.0) in _rates(imported, "mixed")
    (curve,) = imported.loaded_latency
    assert curve.points == [(1, 80), (25, 90), (75, 150), (97.5, 250), (100, 300)]
    assert any("CPU node 0 and memory node 0 (--nodes)" in note for note in imported.notes)
    assert any("of 2 nodes at once and were divided by 2" in note for note in imported.notes)
    remote = _read("mlc-constructed.txt", ImportOptions(nodes=(1, 0)))
    assert remote.latency[0].value_ns == 141.3
    assert _rates(remote, "read") == [(None, 41.0)]
    assert remote.loaded_latency == []


def test_mlcs_sequential_chase_substitutes_a_random_chase_and_is_reported(tmp_path: Path) -> None:
    imported = _read("mlc-constructed.txt", ImportOptions(shares=()))
    assert {figure.how for figure in imported.latency if figure.pattern == "random"} == {"fitted"}
    assert not any("assumed" in note for note in imported.notes)
    text = (FOLDER / "mlc-constructed.txt").read_text()
    short = tmp_path / "matrix.txt"
    short.write_text(text[: text.index("Measuring Peak")])
    device, _, notes = import_with_notes([short], ImportOptions(), DeviceDescription())
    figure = idle_read_latency_ns(device)
    assert (figure.value_ns, figure.how) == (80.5, "assumed")
    assert any("random reads are assumed" in note for note in notes)


def test_mlc_idle_latency_by_its_option() -> None:
    (figure,) = _read("mlc-idle-constructed.txt").latency
    assert (figure.pattern, figure.value_ns) == ("random", 320.0)


def test_mess_1_cycles_become_ns_and_load_rises() -> None:
    imported = _read("mess-1-constructed")
    assert [curve.read_share for curve in imported.loaded_latency] == [1.0, 0.5]
    assert imported.loaded_latency[0].points == [(1, 100), (20, 105), (50, 200), (60, 400)]
    with pytest.raises(NearfarError, match=r"--latency-unit cycles@2\.1GHz"):
        _read("mess-1-constructed", ImportOptions())


def test_mess_2_is_ordered_by_pause_so_that_folds_are_kept() -> None:
    imported = _read("mess-2-constructed.csv")
    assert imported.loaded_latency[0].points == [(1.5, 100), (20, 120), (22, 350), (21, 400)]
    assert imported.loaded_latency[0].oddities
    same = _read("mess-2-constructed.json")
    assert [curve.read_share for curve in same.loaded_latency] == [1.0, 0.55]
    assert same.loaded_latency[1].points == [(1.2, 101), (18, 500)]


def test_profet_units_are_distinguished_from_mess_2_by_their_size() -> None:
    imported = _read("profet-constructed.json")
    assert imported.loaded_latency[0].points == [(1, 100), (50, 120), (100, 200)]
    with pytest.raises(NearfarError, match=r"MB/s and CPU cycles.*cycles@2.3GHz"):
        _read("profet-constructed.json", ImportOptions())


def test_multiload_rows_become_latency_bandwidth_and_a_curve() -> None:
    imported = _read("multiload-constructed.txt")
    assert imported.latency[0].value_ns == 100.5
    assert imported.latency[0].region_bytes == 1 << 30
    assert imported.bandwidth[0].operation == "copy"
    assert imported.bandwidth[0].value_gb_per_s == pytest.approx(100_000 * 2**20 / 1e9, abs=1e-4)
    (curve,) = imported.loaded_latency
    assert [ns for _, ns in curve.points] == [110.0, 200.0]
    assert curve.points[1][0] == pytest.approx(340_000 * 2**20 / 1e9, abs=1e-4)
    assert any("single run" in note for note in imported.notes)


def test_multichase_prints_one_number(tmp_path: Path) -> None:
    path = tmp_path / "chase.txt"
    path.write_text("some header\n  123.4\n")
    imported, _ = read_any(path, ImportOptions(), "multichase")
    assert imported.latency[0].value_ns == 123.4


def test_likwid_benchs_kernels_are_recognised_by_loads_and_stores() -> None:
    imported = _read("likwid-bench-run-here.txt")
    kinds = [(figure.operation, figure.threads, figure.read_share) for figure in imported.bandwidth]
    assert kinds == [
        ("read", 1, None),
        ("nt-store", 2, None),
        ("copy", 1, None),
        ("mixed", 2, 0.75),
    ]
    assert imported.bandwidth[0].value_gb_per_s == pytest.approx(20.35648, abs=1e-3)


def test_the_four_kernels_of_stream() -> None:
    imported = _read("stream-constructed.txt")
    assert _rates(imported, "copy") == [(None, 58.0)]
    assert _rates(imported, "mixed") == [(0.5, 57.0), (0.6667, 66.0), (0.6667, 66.5)]
    assert {figure.threads for figure in imported.bandwidth} == {8}


def test_perma_bench_in_gib_and_omissions_are_counted() -> None:
    imported = _read("perma-constructed.json")
    assert [
        (figure.operation, figure.pattern, figure.threads, figure.access_bytes)
        for figure in imported.bandwidth
    ] == [
        ("nt-store", "random", 4, 256),
        ("read", "sequential", 8, 4096),
    ]
    assert imported.bandwidth[0].value_gb_per_s == pytest.approx(2 * 2**30 / 1e9, abs=1e-4)
    assert [figure.value_ns for figure in imported.latency] == [429.0]
    assert any("2 of 5 benchmarks left out" in note for note in imported.notes)


BROKEN = [
    ("mlc-constructed.txt", " 141.3\t  81.1", "141.3", r":6: 1 entries, but the matrix has 2"),
    ("mlc-constructed.txt", "  80.5", "  -", r":5: the latency is '-', not a positive number"),
    ("mlc-constructed.txt", "\t 150000.0\n", "\n", r":37: not a delay, ns and MB/s"),
    ("mlc-constructed.txt", "200000.0\t\n", "fast\t\n", r":12: ALL Reads is 'fast'"),
    ("mess-1-constructed/bwlat_100.txt", "50000.0\t", "50000.0x", r":3: not two numbers"),
    ("mess-1-constructed/bwlat_100.txt", "220.5", "-220", r":4: a latency of -104.762 ns is not"),
    ("mess-2-constructed.csv", "100,500,20.0,,", "100,500,20.0,", r":3: 8 values, but"),
    ("mess-2-constructed.csv", "100,0,21.0", "101,0,21.0", r":4: a read share of 101%"),
    ("mess-2-constructed.csv", "latency_mean", "lat", "column 'lat' does not state its unit"),
    ("mess-2-constructed.json", "[18.0, 500.0]", "[18.0]", 'point 2 of "55" is not two numbers'),
    ("mess-2-constructed.json", "120.0]", "-120.0]", 'point 2 of "100": a latency of -120'),
    ("mess-2-constructed.json", "]\n}", "", r":\d+: not valid JSON.*cut short"),
    ("multiload-constructed.txt", "stream-sum", "stream-x", r":6: .* 'stream-x' is unknown"),
    ("multiload-constructed.txt", "\t, 79      ", "", r":\d+: 11 values, but"),
    ("likwid-bench-run-here.txt", "MByte/s:", "MB:", r":5: the test load_avx has no MByte/s"),
    ("likwid-bench-run-here.txt", "MByte/s:\t\t", "MByte/s:\t\tnan ", r":25: MByte/s is 'nan'"),
    ("stream-constructed.txt", "Triad: ", "Tri: ", "3 of STREAM's results, not Copy, Scale, Add"),
    ("stream-constructed.txt", "Solution Validates", "Failed Validation", ":15: STREAM reports"),
    ("perma-constructed.json", '"bandwidth": 2.0', '"bandwidth": 0', "1.1 has bandwidth = 0, not"),
    ("perma-constructed.json", '"nocache"', '"magic"', "unknown persist_instruction magic"),
    ("perma-constructed.json", '"memory_type": "pmem"', '"memory_type": "dram"', "is one memory"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "refusal"), BROKEN)
def test_broken_input_is_refused_with_its_location(
    tmp_path: Path, name: str, old: str, new: str, refusal: str
) -> None:
    path = tmp_path / Path(name).name
    text = (FOLDER / name).read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(NearfarError, match=refusal) as refused:
        read_any(path, FORMATS[name][1])
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("name", [name for name in FORMATS if (FOLDER / name).is_file()])
def test_a_truncated_file_is_read_or_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    form, options = FORMATS[name]
    text = (FOLDER / name).read_text()
    path = tmp_path / Path(name).name
    for end in range(0, len(text), max(1, len(text) // 40)):
        path.write_text(text[:end])
        try:
            imported, _ = read_any(path, options, form)
        except NearfarError as error:
            assert str(path) in str(error)
        else:
            assert not imported.empty()


@pytest.mark.parametrize("form", [name for name in IMPORTERS.names() if name != "csv"])
def test_a_file_of_another_format_is_refused(tmp_path: Path, form: str) -> None:
    path = tmp_path / "other.txt"
    options = ImportOptions(Units(latency="cycles@2.1GHz", read_share=1.0))
    path.write_text("This is\nno output of any tool.\n")
    with pytest.raises(NearfarError, match=r"other\.txt"):
        read_any(path, options, form)
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(NearfarError, match="not text in UTF-8"):
        read_any(path, options, form)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["--format", "mcl"], "did you mean 'mlc'"),
        (["--nodes", "0-1"], "--nodes must be a CPU node and a memory node"),
        (["--nodes", "0:7"], "the latency matrix has no nodes 0:7"),
        (["--format", "stream"], "has no STREAM results"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(
    arguments: list[str],
    refusal: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "mine.toml"
    command = ["device", "import", str(FOLDER / "mlc-constructed.txt"), "-o", str(out)]
    assert main([*command, *arguments]) == ExitCode.WRONG_USE
    assert refusal in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_without_curves_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match="a folder without curves"):
        detect(tmp_path)
    with pytest.raises(NearfarError, match="No such file"):
        detect(tmp_path / "absent.txt")


def test_output_of_the_installed_likwid_bench_is_read(tmp_path: Path) -> None:
    """A short run of the real tool, where it is installed, checks the layout."""
    import subprocess

    program = shutil.which("likwid-bench")
    if program is None:
        pytest.skip("likwid-bench is not installed: apt-get install likwid")
    run = subprocess.run(
        [program, "-t", "load", "-w", "N:20MB:1"], capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        pytest.skip(f"likwid-bench does not run here: {run.stderr.strip()[:80]}")
    path = tmp_path / "likwid.txt"
    path.write_text(run.stdout)
    device, form, _ = import_with_notes([path], ImportOptions(), DeviceDescription())
    assert form == "likwid-bench"
    figure: BandwidthFigure = bandwidth(device, "read")
    assert figure.value_gb_per_s > 0
    assert figure.threads == 1
