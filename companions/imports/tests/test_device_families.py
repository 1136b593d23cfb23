"""Imports of many loaded-latency runs into a device: traffic, cores, paths, omissions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.curves import bandwidth, idle_read_latency_ns, loaded_curve
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.predict.derive import far_memory, near_memory
from nearfar_imports.import_device import DeviceDescription, import_with_notes, save_device
from nearfar_imports.importers import ImportOptions
from nearfar_imports.importers._mlc_logs import command_of, log_of

sys.path.insert(0, str(Path(__file__).parent))
from mlc_writing import made_up_rows, mlc_text, write_family, write_run

ABOUT = DeviceDescription(name="mine", technology="cxl")


def _import(
    paths: list[Path], nodes: tuple[int, int] | None = None
) -> tuple[DeviceProfile, list[str]]:
    device, _, notes = import_with_notes(paths, ImportOptions(nodes=nodes), ABOUT)
    return device, notes


def test_a_family_of_logs_becomes_one_device(tmp_path: Path) -> None:
    device, notes = _import(write_family(tmp_path / "logs"))
    assert notes == []
    assert idle_read_latency_ns(device).value_ns == pytest.approx(250.0, rel=0.02)
    assert bandwidth(device, "read").value_gb_per_s == pytest.approx(48.0, rel=0.02)
    assert bandwidth(device, "nt-store").value_gb_per_s == pytest.approx(47.0, rel=0.02)
    mixed = [f for f in device.bandwidth if f.operation == "mixed" and f.threads is None]
    assert [(f.read_share, round(f.value_gb_per_s)) for f in mixed] == [(0.5, 54)]
    kinds = {(c.read_share, c.pattern, c.non_temporal, c.threads) for c in device.loaded_latency}
    traffics = ((1.0, "sequential", False), (0.5, "sequential", False))
    traffics += ((0.0, "sequential", True), (1.0, "random", False))
    assert kinds == {(*kind, cores) for kind in traffics for cores in (None, 1, 4, 16)}
    curve = loaded_curve(device, 1.0)
    assert curve is not None
    assert (curve.threads, curve.pattern) == (None, "sequential")


def test_single_thread_bandwidth_is_that_of_one_core(tmp_path: Path) -> None:
    device, _ = _import(write_family(tmp_path / "logs"))
    assert bandwidth(device, "read", threads=1).value_gb_per_s == pytest.approx(12.0, rel=0.01)


@pytest.mark.parametrize(
    ("options", "traffic", "cores"),
    [
        ("-j4 -k1-16", (1.0, False, "sequential"), 16),
        ("-j4 -k1-11,96-101 -U", (1.0, False, "random"), 17),
        ("-R -k3", (1.0, False, "sequential"), 1),
        ("-k1-4 -W5", (0.5, False, "sequential"), 4),
        ("-k1-4 -W12 -c191", (0.8, False, "sequential"), 4),
        ("-m f0 -W7 -U", (0.6667, True, "random"), None),
        ("-mf0 -W4", (0.6, False, "sequential"), 4),
        ("-W6", (0.0, True, "sequential"), None),
    ],
)
def test_traffic_is_read_from_the_command_line(
    tmp_path: Path, options: str, traffic: tuple[float, bool, str], cores: int | None
) -> None:
    log = log_of(write_run(tmp_path, "any.txt", options, made_up_rows(100, 60, 4)))
    assert (log.traffic, log.cores) == (traffic, cores)


def test_one_w5_log_is_not_taken_for_reads(tmp_path: Path) -> None:
    device, notes = _import([write_run(tmp_path, "a", "-j4 -W5", made_up_rows(250, 52.4, 16))])
    assert [curve.read_share for curve in device.loaded_latency] == [0.5]
    assert [figure.operation for figure in device.bandwidth] == ["mixed"]
    assert notes == []


def test_a_file_name_gives_what_the_text_lacks(tmp_path: Path) -> None:
    text = mlc_text("", made_up_rows(250, 52.4, 16)).split("\n", 2)[2]
    path = tmp_path / "log_d1_c16_w2_r1.txt"
    path.write_text(text)
    log = log_of(path)
    assert (log.traffic, log.cores) == ((0.6667, False, "random"), 16)
    other = path.rename(tmp_path / "results.txt")
    with pytest.raises(NearfarError, match=r"does not state its traffic"):
        log_of(other)


def test_a_pasted_table_is_reversed_and_reports_its_assumptions(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    text = mlc_text("", made_up_rows(250, 48, 16))
    path.write_text(text[text.index("Inject") :])
    device, notes = _import([path])
    (curve,) = device.loaded_latency
    assert curve.points[0][0] < curve.points[-1][0]
    assert bandwidth(device, "read").value_gb_per_s == pytest.approx(48, rel=0.02)
    assert any("assumed to be reads only (--read-share)" in note for note in notes)


def test_a_log_of_a_cache_and_a_truncated_log_are_left_out_and_counted(tmp_path: Path) -> None:
    whole = write_family(tmp_path / "logs")
    cached = write_run(tmp_path, "cached", "-j4 -k1-1", made_up_rows(16.3, 17, 1))
    cut = tmp_path / "cut"
    cut.write_text(mlc_text("-j4 -k1-4", made_up_rows(250, 48, 4))[:-140])
    empty = tmp_path / "empty"
    empty.write_text("Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: ")
    nothing = tmp_path / "nothing"
    nothing.write_text("")
    device, notes = _import([*whole, cached, cut, empty, nothing])
    expected, _ = _import(whole)
    assert device.loaded_latency == expected.loaded_latency
    text = " | ".join(notes)
    assert "1 run that measured a cache (below 40 ns): cached" in text
    assert f"left out 3 of 16 files: {cut} is cut short" in text


def test_a_run_with_delays_of_its_own_that_ended_early_is_left_out(tmp_path: Path) -> None:
    whole = write_family(tmp_path / "logs")
    rows = [(delay + 1, ns, rate) for delay, ns, rate in made_up_rows(250, 48, 4)]
    early = write_run(tmp_path, "early", "-j4 -k1-4 -gown", rows[:-3])
    _, notes = _import([*whole, early])
    assert notes == ["left out 1 run that ended early: early"]


def test_a_cut_log_alone_is_refused(tmp_path: Path) -> None:
    """Its lowest load is missing, which its idle latency would be taken from."""
    cut = tmp_path / "cut"
    cut.write_text(mlc_text("-j4 -k1-4", made_up_rows(250, 48, 4))[:-140])
    with pytest.raises(NearfarError, match=r"cut is cut short: its last delay is 700, and MLC"):
        _import([cut])


def test_a_cut_table_among_others_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    text = mlc_text("", made_up_rows(250, 48, 16)[:-6])
    path.write_text(text[text.index("Inject") :])
    _, notes = _import([path])
    assert any("is cut short: its last delay is" in note for note in notes)


def test_a_run_that_drew_no_bandwidth_is_left_out(tmp_path: Path) -> None:
    whole = write_family(tmp_path / "logs")
    idle = write_run(
        tmp_path,
        "idle",
        "-j4 -k1-4",
        [(delay, ns, 0.0) for delay, ns, _ in made_up_rows(250, 48, 4)],
    )
    _, notes = _import([*whole, idle])
    assert notes == ["left out 1 run that drew no bandwidth: idle"]
    with pytest.raises(NearfarError, match="drew no bandwidth: idle; no other run is left"):
        _import([idle])


def test_logs_of_caches_alone_are_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, "cached", "-j4 -k1-1", made_up_rows(16.3, 17, 1))
    with pytest.raises(NearfarError, match=r"measured a cache \(below 40 ns\): cached"):
        _import([path])


def test_a_partly_cached_run_does_not_refuse_the_others(tmp_path: Path) -> None:
    whole = write_family(tmp_path / "logs")
    partly = write_run(tmp_path, "partly", "-j4 -k1-4", made_up_rows(90, 48, 4))
    device, notes = _import([*whole, partly])
    expected, _ = _import(whole)
    assert device.loaded_latency == expected.loaded_latency
    assert any("had part of their buffer in a cache" in note for note in notes)


def test_runs_of_two_machines_are_refused(tmp_path: Path) -> None:
    first = write_family(tmp_path / "a")
    second = write_family(tmp_path / "b", idle_ns=96, peak_gb_per_s=69)
    with pytest.raises(NearfarError, match=r"cannot be of one memory: import each machine's"):
        _import([*first, *second])


def test_two_memories_are_distinguished_by_node(tmp_path: Path) -> None:
    far = write_family(tmp_path / "a")
    near = write_family(tmp_path / "b", idle_ns=96, peak_gb_per_s=69, node=0)
    with pytest.raises(NearfarError, match=r"node 0 \(12 runs, 96 ns\), node 4 \(12 runs, 250"):
        _import([*far, *near])
    for node, idle_ns in ((0, 96), (4, 250)):
        device, _ = _import([*far, *near], nodes=(0, node))
        assert idle_read_latency_ns(device).value_ns == pytest.approx(idle_ns, rel=0.02)
    with pytest.raises(NearfarError, match="no run measured memory node 2; there are: 0, 4"):
        _import([*far, *near], nodes=(0, 2))
    with pytest.raises(NearfarError, match="no run measured memory node 0; there are: 4"):
        _import(far, nodes=(0, 0))


def test_cores_of_another_socket_are_left_out(tmp_path: Path) -> None:
    near = write_family(tmp_path / "a")
    remote = [
        write_run(tmp_path, f"far{c}", f"-j4 -k49-{48 + c} -c191", made_up_rows(470, 20, c))
        for c in (1, 4, 16)
    ]
    device, notes = _import([*near, *remote])
    assert bandwidth(device, "read").value_gb_per_s > 40
    (note,) = notes
    assert note.startswith("left out 3 runs that reached the memory over another path (CPUs 49..")
    alone, _ = _import(remote)
    assert idle_read_latency_ns(alone).value_ns == pytest.approx(470, rel=0.02)


TABLE = "node,cores,mlc_w,read_share,nontemporal_writes,random,inject_delay,latency_ns,gb_per_s,"
TABLE += "latency_cpu,suspect\n"


def test_both_memories_of_a_machine_are_imported_together(tmp_path: Path) -> None:
    """The far memory's latency above its host's imported DRAM is added to near memory."""
    near = import_with_notes(
        write_family(tmp_path / "b", idle_ns=96, peak_gb_per_s=69, node=0),
        ImportOptions(),
        DeviceDescription(name="theirs", technology="dram"),
    )[0]
    path = tmp_path / "theirs.toml"
    save_device(near, path)
    far = import_with_notes(
        write_family(tmp_path / "a"),
        ImportOptions(),
        DeviceDescription(name="far", technology="cxl", host_dram=str(path)),
    )[0]
    here = near_memory(load_device("ddr5-4800-local"))
    added = idle_read_latency_ns(far).value_ns - idle_read_latency_ns(near).value_ns
    assert far_memory(far, here).latency_ns == pytest.approx(here.latency_ns + added, rel=0.01)


def test_a_table_of_runs_gives_the_same_device_as_its_logs(tmp_path: Path) -> None:
    rows = []
    for kind, share in ((0, 1), (5, 0.5)):
        for cores in (1, 16):
            made = made_up_rows(250, 48 + kind, cores)
            options = f"-k1-{cores}" + (f" -W{kind}" if kind else "")
            write_run(tmp_path, f"log_c{cores}_w{kind}", options, made)
            rows += [
                f"d0,{cores},{kind},{share},0,0,{delay},{ns:.2f},{round(rate * 1e3, 1) / 1e3},0,0"
                for delay, ns, rate in made
            ]
    rows += ["d7,1,0,1,0,0,0,70,9,0,1", "d7,1,0,1,0,0,2,71,9,0,1"]
    table = tmp_path / "runs.csv"
    table.write_text(TABLE + "\n".join(rows) + "\n")
    of_table, notes = _import([table])
    of_logs, _ = _import(sorted(tmp_path.glob("log_*")))
    assert of_table.loaded_latency == of_logs.loaded_latency
    assert of_table.bandwidth == of_logs.bandwidth
    assert notes == ["left out 2 rows that the table marks as suspect"]


def test_a_table_of_one_row_a_run_is_refused(tmp_path: Path) -> None:
    """Points of different runs are no curve."""
    table = tmp_path / "runs.csv"
    table.write_text(TABLE + "d0,1,0,1,0,0,0,300,40,0,0\nd0,4,0,1,0,0,0,400,45,0,0\n")
    with pytest.raises(NearfarError, match="2 runs that gave fewer than two points"):
        _import([table])


def test_a_traffic_type_of_unknown_share_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(TABLE + "d0,1,13,,0,0,0,300,40,0,0\nd0,1,13,,0,0,900,100,2,0,0\n")
    with pytest.raises(NearfarError, match="the share of reads of mlc_w 13 is not known"):
        _import([table])


def test_the_verb_takes_many_files_and_needs_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(path) for path in write_family(tmp_path / "logs")]
    out = tmp_path / "mine.toml"
    assert main(["device", "import", *paths, "-o", str(out)]) == ExitCode.WRONG_USE
    assert "12 files make one device: name it with --name" in capsys.readouterr().err
    assert main(["device", "import", *paths, "--name", "mine", "-o", str(out)]) == ExitCode.DONE
    assert len(load_device(str(out)).loaded_latency) == 16
    capsys.readouterr()
    assert main(["device", "show", str(out)]) == ExitCode.DONE
    assert "non-temporal" not in capsys.readouterr().out.split("0% reads")[0]


def test_files_of_two_formats_or_of_one_share_are_refused(tmp_path: Path) -> None:
    (log, *_) = write_family(tmp_path / "logs")
    curve = tmp_path / "a.csv"
    curve.write_text("bandwidth_gb_per_s,latency_ns,read_pct\n1,90,100\n9,95,100\n")
    again = tmp_path / "b.csv"
    again.write_text(curve.read_text())
    stream = Path(__file__).parent / "importing" / "stream-constructed.txt"
    with pytest.raises(NearfarError, match="import files of one format at once"):
        _import([log, stream])
    with pytest.raises(NearfarError, match="both have a curve at 100% reads"):
        _import([curve, again])
    again.write_text(curve.read_text().replace(",100", ",50"))
    device, _ = _import([again, curve])
    assert [curve.read_share for curve in device.loaded_latency] == [1.0, 0.5]


@pytest.mark.parametrize("cpus", ["-k1,3-", "-k-5", "-k7-3", "-k0-99999999999"])
def test_invalid_cpu_ranges_are_refused(cpus: str) -> None:
    with pytest.raises(NearfarError, match=f"MLC's option {cpus} names no CPUs"):
        command_of(f"Command line parameters: --loaded_latency {cpus} -W5")
