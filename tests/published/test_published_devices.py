"""Published figures of memories, as the library must give them.

Expectations are typed from the cited source, never from the TOML. The curves of sources that may
be copied are in `curves/`; the others are compared where `../shared/reference/devices` holds them.
"""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import pytest

from nearfar.devices import curves
from nearfar.devices.library import host_dram, load_device
from nearfar.documents.device import BandwidthFigure, Operation, Pattern
from nearfar_imports.import_curve import Units, read_curves
from nearfar_imports.import_device import DeviceDescription, import_with_notes
from nearfar_imports.importers import ImportOptions

DATA = Path(__file__).parent / "curves"
SHARED = Path(__file__).parents[3] / "shared" / "reference" / "devices"
UNLICENSED = [
    ("ddr5-4800-local", "mess_ddr5_4800_xeon8480_avx2.csv"),
    ("hbm2e-xeon-max", "mess_hbm2e_xeonmax9480.csv"),
    ("lpddr5-grace", "mess_lpddr5_grace.csv"),
]
"""Curves of Mess-Results, which has no licence."""
AVAILABLE = [(device, SHARED / file) for device, file in UNLICENSED if (SHARED / file).is_file()]


def _latency(device: str, operation: Operation, pattern: Pattern) -> float:
    figure = curves.idle_latency_ns(load_device(device), operation, pattern)
    assert figure is not None
    return figure.value_ns


def _bandwidths(device: str, operation: Operation) -> list[BandwidthFigure]:
    return [f for f in load_device(device).bandwidth if f.operation == operation]


@pytest.mark.parametrize(
    ("device", "operation", "pattern", "latency_ns"),
    [
        ("optane-100-6dimm", "read", "random", 305.0),
        ("optane-100-6dimm", "read", "sequential", 169.4),
        ("optane-100-6dimm", "nt-store", "sequential", 90.4),
        ("optane-100-6dimm", "clwb", "sequential", 62.3),
        ("ddr4-2666-cascade-lake", "read", "random", 101.5),
        ("ddr4-2666-cascade-lake", "read", "sequential", 81.4),
        ("ddr4-2666-cascade-lake", "nt-store", "sequential", 86.9),
        ("ddr4-2666-cascade-lake", "clwb", "sequential", 57.3),
    ],
)
def test_yang_fast_2020_figure_2(
    device: str, operation: Operation, pattern: Pattern, latency_ns: float
) -> None:
    """Yang et al., FAST 2020, figure 2: best-case latencies of DRAM and Optane (LATTester)."""
    assert _latency(device, operation, pattern) == latency_ns


@pytest.mark.parametrize(
    ("device", "operation", "gb_per_s"),
    [
        ("ddr4-2666-cascade-lake", "read", 105.56),
        ("ddr4-2666-cascade-lake", "nt-store", 76.81),
        ("ddr4-2666-cascade-lake", "clwb", 35.56),
        ("optane-100-6dimm", "read", 37.63),
        ("optane-100-6dimm", "nt-store", 12.50),
        ("optane-100-6dimm", "clwb", 9.98),
        ("optane-100-1dimm", "read", 6.52),
        ("optane-100-1dimm", "nt-store", 2.22),
        ("optane-100-1dimm", "clwb", 1.79),
    ],
)
def test_yang_fast_2020_figure_4_peaks(device: str, operation: Operation, gb_per_s: float) -> None:
    """Yang et al., FAST 2020, figure 4: peaks over 1 to 24 threads, 256 B sequential."""
    assert curves.bandwidth(load_device(device), operation).value_gb_per_s == gb_per_s


def test_optane_collapses_below_its_granularity() -> None:
    """FAST 2020, section 3 and figure 5: 64 B random accesses get about a quarter of 256 B ones."""
    by_size = {
        f.access_bytes: f.value_gb_per_s
        for f in _bandwidths("optane-100-6dimm", "read")
        if f.pattern == "random"
    }
    assert by_size[64] / by_size[256] == pytest.approx(9.67 / 33.65, rel=1e-3)
    assert load_device("optane-100-6dimm").granularity_bytes == 256


def test_optane_writes_peak_at_few_threads() -> None:
    """FAST 2020, section 5.3: more threads on a DIMM lower the write bandwidth."""
    by_threads = {
        f.threads: f.value_gb_per_s
        for f in _bandwidths("optane-100-6dimm", "nt-store")
        if f.pattern == "sequential" and f.threads
    }
    assert by_threads[4] > by_threads[12] > by_threads[24]


def test_optane_one_dimm_has_three_plateaus() -> None:
    """Wang et al., MICRO 2020: a chase in 16 KB, 16 MB and far more than that costs about
    180, 310 and 380 ns a line (the buffers' edges are the published capacities)."""
    device = load_device("optane-100-1dimm")
    by_region = {f.region_bytes: f.value_ns for f in device.latency if f.operation == "read"}
    assert by_region[16 << 10] == pytest.approx(181, abs=2)
    assert by_region[1 << 20] == pytest.approx(311, abs=4)
    assert curves.idle_read_latency_ns(device).value_ns == pytest.approx(377, abs=4)
    assert [(b.capacity_bytes, b.block_bytes) for b in device.buffers] == [
        (16 << 10, 256),
        (16 << 20, 4096),
    ]


def test_the_performance_thesis_pair() -> None:
    """Kasinidis, University of Cyprus 2022, chapter 3: PMEM reads 305 ns, writes 90 ns; its code
    has 100 and 60 ns for DRAM; chapter 5 7.45 GB/s."""
    assert _latency("thesis-pmem", "read", "random") == 305.0
    assert _latency("thesis-pmem", "nt-store", "random") == 90.0
    assert _latency("thesis-dram", "read", "random") == 100.0
    assert _latency("thesis-dram", "write", "random") == 60.0
    assert curves.bandwidth(load_device("thesis-pmem"), "read").value_gb_per_s == 7.45


@pytest.mark.parametrize("far_ns", [300, 450, 600])
@pytest.mark.parametrize("gb_per_s", [10, 5])
def test_xmem_configurations(far_ns: int, gb_per_s: int) -> None:
    """Dulloor et al., EuroSys 2016: DRAM 150 ns and 40 GB/s; far 2x to 4x the latency and 1/4 to
    1/8 of the bandwidth."""
    near, far = load_device("xmem-near"), load_device(f"xmem-far-{far_ns}ns-{gb_per_s}gb")
    assert curves.idle_read_latency_ns(near).value_ns == 150.0
    assert curves.bandwidth(near, "read").value_gb_per_s == 40.0
    assert curves.idle_read_latency_ns(far).value_ns == far_ns
    assert curves.bandwidth(far, "read").value_gb_per_s == gb_per_s


def test_cachelib_expander() -> None:
    """CacheLib wiki, OCP demo configuration: 250 ns; 17.8, 23.6, 25.1, 27.2 GB/s for reads only,
    3:1, 2:1, 1:1."""
    device = load_device("cxl-e3s-x8")
    assert curves.idle_read_latency_ns(device).value_ns == 250.0
    assert curves.bandwidth(device, "read").value_gb_per_s == 17.8
    mixed = {f.read_share: f.value_gb_per_s for f in device.bandwidth if f.operation == "mixed"}
    assert mixed == {0.75: 23.6, 0.6667: 25.1, 0.5: 27.2}


def test_melody_devices_lie_in_the_range_the_abstract_gives() -> None:
    """Liu et al., ASPLOS 2025, abstract and quotations: 140-410 ns, 214-394 ns, 18-52 GB/s."""
    devices = [load_device(f"cxl-melody-{letter}") for letter in "abcd"]
    latencies = [curves.idle_read_latency_ns(device) for device in devices]
    assert (min(f.value_ns for f in latencies), max(f.value_ns for f in latencies)) == (214, 394)
    rates = [curves.bandwidth(device, "read").value_gb_per_s for device in devices]
    assert (min(rates), max(rates)) == (18, 52)
    assert {figure.how for figure in latencies} == {"assumed"}


@pytest.mark.parametrize(
    ("far", "host", "added_ns"),
    [
        # Yang et al., FAST 2020, figure 2: 305 beside 101.5 ns.
        ("optane-100-6dimm", "ddr4-2666-cascade-lake", 203.5),
        # Mess, Skylake; PROFET, Xeon Gold 5218: other socket beside own, the curves' first points.
        ("ddr4-2666-remote", "ddr4-2666-local", 68.9),
        ("ddr4-2666-remote-xeon5218", "ddr4-2666-local-xeon5218", 72.4),
        # MLC on Xeon Platinum 8468: 188 beside 95.4 ns.
        ("ddr5-4800-remote", "ddr5-4800-local-xeon8468", 92.6),
        # Kasinidis, Cyprus 2022: 305 beside 100 ns. X-Mem, EuroSys 2016: 300 beside 150 ns.
        ("thesis-pmem", "thesis-dram", 205.0),
        ("xmem-far-300ns-10gb", "xmem-near", 150.0),
    ],
)
def test_what_memories_add_to_local_dram(far: str, host: str, added_ns: float) -> None:
    device, local = load_device(far), host_dram(load_device(far))
    assert local is not None
    assert local.name == host
    here, there = curves.idle_read_latency_ns(device), curves.idle_read_latency_ns(local)
    assert here.value_ns - there.value_ns == pytest.approx(added_ns, abs=0.05)


def test_nvdimm_shares_its_channels() -> None:
    """Gunnar, University of Oslo 2021, table 5: STREAM copy on NVDIMM 66.05 GB/s at 16 threads."""
    copies = {f.threads: f.value_gb_per_s for f in _bandwidths("nvdimm-n", "copy")}
    assert copies[16] == pytest.approx(66.0475, abs=1e-3)
    assert copies[1] == pytest.approx(6.4552, abs=1e-3)


def test_optane_200_beats_100_in_bandwidth_only() -> None:
    """Benson et al., PVLDB 2022: B-256 reads 65.6 and nt-stores 23.7 GB/s; medians 425, 424 ns."""
    device = load_device("optane-200")
    assert curves.bandwidth(device, "read").value_gb_per_s == pytest.approx(65.6, abs=0.1)
    assert curves.bandwidth(device, "nt-store").value_gb_per_s == pytest.approx(23.7, abs=0.1)
    assert curves.idle_read_latency_ns(device).value_ns == pytest.approx(305 * 425 / 424, abs=0.1)


@pytest.mark.parametrize(
    ("device", "file", "added_ns"),
    [
        ("ddr4-2666-local", "mess_ddr4_2666_skylake.csv", 0),
        ("ddr4-2666-remote", "mess_ddr4_2666_skylake_remote.csv", 0),
        ("ddr4-2666-remote-xeon5218", "mess_ddr4_2666_xeon5218_upi_profet.csv", 0),
        ("ddr4-2666-local-xeon5218", "mess_ddr4_2666_xeon5218_local_profet.csv", 0),
        # The source's latency is of link and device alone: see the figure's note.
        ("cxl-expander-model", "mess_cxl_expander_model.csv", 94),
        *((device, file, 0) for device, file in AVAILABLE),
    ],
)
def test_curves_are_those_of_the_source(device: str, file: str | Path, added_ns: float) -> None:
    """Every point is one of the source's, in its order; the ends and the best are kept."""
    source = _families(DATA / file)
    for curve in load_device(device).loaded_latency:
        there = [(bandwidth, ns + added_ns) for bandwidth, ns in source[curve.read_share]]
        rest = iter(there)
        for point in curve.points:
            assert any(abs(point[0] - x) < 1e-3 and abs(point[1] - y) < 1e-2 for x, y in rest), (
                f"{point} is not in the source, or not in this order"
            )
        for extreme in (there[0], there[-1], max(there)):
            assert any(
                abs(extreme[0] - x) < 1e-3 and abs(extreme[1] - y) < 1e-2 for x, y in curve.points
            ), f"{extreme} was lost"


@pytest.mark.parametrize(
    ("device", "file"),
    [("ddr4-2666-local", "mess_ddr4_2666_skylake.csv"), *AVAILABLE[:1]],
)
def test_import_makes_the_library_curve(device: str, file: str | Path) -> None:
    """`device import` of the source gives the curves that the library has, within 1 % up to 95 %
    of the best bandwidth: import orders points by load, the library has the source's order."""
    ours = load_device(device).loaded_latency
    shares = tuple(curve.read_share for curve in ours)
    result = read_curves(DATA / file, Units(bandwidth="GB/s"), "mess", shares=shares)
    for imported, curve in zip(result.loaded_latency, ours, strict=True):
        assert min(imported.points) == min(curve.points)
        assert max(imported.points) == max(curve.points)
        knee = 0.95 * max(curve.points)[0]
        kept = sorted(point for point in curve.points if point[0] <= knee)
        for bandwidth, latency in imported.points:
            if kept[0][0] <= bandwidth <= kept[-1][0]:
                assert _between(kept, bandwidth) == pytest.approx(latency, rel=0.01)


def test_thinning_costs_little() -> None:
    """Straight lines between the points kept are within 2 % of the points left out, except in
    saturation, where the source's latency scatters at one bandwidth."""
    for curve in load_device("ddr4-2666-local").loaded_latency:
        every = _families(DATA / "mess_ddr4_2666_skylake.csv")[curve.read_share]
        knee = 0.95 * max(curve.points)[0]
        kept = sorted(point for point in curve.points if point[0] <= knee)
        for bandwidth, latency in every:
            if kept[0][0] <= bandwidth <= kept[-1][0]:
                assert _between(kept, bandwidth) == pytest.approx(latency, rel=0.02)


def test_thread_sweeps_are_those_of_the_source() -> None:
    """FAST 2020, figure 4; the six-DIMM file's headers of nt-store and clwb are swapped."""
    for device, file, swapped in (
        ("ddr4-2666-cascade-lake", "ddr4_fast20_bw_vs_threads.csv", False),
        ("optane-100-1dimm", "optane100_fast20_bw_vs_threads_1dimm.csv", False),
        ("optane-100-6dimm", "optane100_fast20_bw_vs_threads_6dimm.csv", True),
    ):
        columns = {"read": "read", "nt-store": "write_ntstore", "clwb": "write_store_clwb"}
        if swapped:
            columns |= {"nt-store": columns["clwb"], "clwb": columns["nt-store"]}
        rows = {int(row["threads"]): row for row in _rows(DATA / file)}
        checked = 0
        for figure in load_device(device).bandwidth:
            if figure.source == "threads":
                assert figure.threads is not None
                row = rows[figure.threads]
                assert figure.value_gb_per_s == float(row[columns[figure.operation]])
                checked += 1
        assert checked >= 3 * 7


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _families(path: Path) -> dict[float, list[tuple[float, float]]]:
    """Return the source's points by read share, read here without nearfar's own importer."""
    results: dict[float, list[tuple[float, float]]] = {}
    for row in _rows(path):
        point = (float(row["bandwidth_gbps"]), float(row["latency_ns"]))
        results.setdefault(round(float(row["read_pct"]) / 100, 4), []).append(point)
    return results


def _between(points: list[tuple[float, float]], bandwidth: float) -> float:
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if x0 <= bandwidth <= x1:
            return y0 if x1 == x0 else y0 + (y1 - y0) * (bandwidth - x0) / (x1 - x0)
    raise AssertionError("outside")


@pytest.mark.parametrize(
    ("device", "idle_ns", "region_mib"),
    [
        ("ddr5-local-dmsim", 137.527, 1024),
        ("ddr5-remote-dmsim", 216.556, 1024),
        ("cxl-asic-dmsim", 283.118, 1024),
        ("cxl-fpga-dmsim", 379.749, 1024),
        ("cxl-asic-dmsim", 121.049, 128),
        ("ddr5-local-dmsim", 57.727, 64),
    ],
)
def test_lmbench_latencies_of_cxl_dmsim(device: str, idle_ns: float, region_mib: int) -> None:
    """CXL-DMSim-Figs at 9fd2a46, lmbench: random reads by region; of the ASIC the raw list."""
    by_region = {f.region_bytes: f.value_ns for f in curves.random_reads(load_device(device))}
    assert by_region[region_mib << 20] == idle_ns
    if region_mib == 1024:
        assert curves.idle_read_latency_ns(load_device(device)).value_ns == idle_ns


@pytest.mark.parametrize(
    ("device", "threads", "triad_mb_per_s"),
    [
        ("ddr5-local-streamer", 1, 12386.9),
        ("ddr5-remote-streamer", 4, 17974.8),
        ("cxl-fpga-streamer", 1, 4678.9),
        ("cxl-fpga-streamer", 4, 11093.6),
    ],
)
def test_stream_of_streamer(device: str, threads: int, triad_mb_per_s: float) -> None:
    """STREAMer at d378c8a: a triad moves a third more than it counts, the line of each store."""
    (figure,) = [
        f for f in _bandwidths(device, "mixed") if f.threads == threads and f.read_share == 0.75
    ]
    assert figure.value_gb_per_s == pytest.approx(triad_mb_per_s * 4 / 3 / 1e3, abs=0.006)


def test_mlc_of_the_eurosys_expander() -> None:
    """ByteDance's artifact at 1cd95f3: idle 243 to 248 ns, reads 48.0 GB/s, one core 20 GB/s of
    random reads; DDR5 of a sub-NUMA node 100 ns, 69 GB/s."""
    far, near = load_device("cxl-asic-eurosys24"), load_device("ddr5-snc4-eurosys24")
    assert 243 < curves.idle_read_latency_ns(far).value_ns < 248.5
    assert curves.bandwidth(far, "read").value_gb_per_s == pytest.approx(48.04, rel=0.002)
    assert 96 < curves.idle_read_latency_ns(near).value_ns < 100.5
    assert curves.bandwidth(near, "read").value_gb_per_s == pytest.approx(69.3, rel=0.002)


EUROSYS = SHARED.parent / "applications" / "devices-eurosys24-cxl.csv"


@pytest.mark.skipif(not EUROSYS.is_file(), reason="needs the reference figures")
def test_the_library_s_expander_is_that_of_its_runs() -> None:
    """Import of all runs gives the library's latency, and its curves within 3 %."""
    device, _, _ = import_with_notes([EUROSYS], ImportOptions(), DeviceDescription())
    library = load_device("cxl-asic-eurosys24")
    assert curves.idle_read_latency_ns(device).value_ns == library.latency[0].value_ns
    for share in (1.0, 0.75, 0.5):
        ours, theirs = curves.loaded_curve(library, share), curves.loaded_curve(device, share)
        assert ours is not None
        assert theirs is not None
        knee = 0.9 * max(ours.points)[0]
        kept = sorted(ours.points)
        for bandwidth, latency in theirs.points:
            if kept[0][0] <= bandwidth <= knee:
                assert _between(kept, bandwidth) == pytest.approx(latency, rel=0.03)
