"""Complete small measurements on this machine; relations only, no absolute times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices import check, curves
from nearfar.documents import DeviceProfile, load, save
from nearfar.measure.measure import measure
from nearfar.measure.obtain import huge_share, is_direct, source_of
from nearfar.measure.one_kernel import kernel_list, measure_kernel
from nearfar.measure.surfaces.chains import CHAINS
from nearfar.memories.spec import parse_spec
from nearfar.memories.topology import Topology, detect
from nearfar.options.measure import KernelOptions, MeasureOptions
from nearfar.plots import plot

SEVERAL_CPUS = len(detect().cpus) > 1

SURFACES = ("idle", "chains", "bandwidth", "loaded")
"""The inputs of predictions; complete measurements are tested on simulated memories."""


def tiny(
    memory: str = "dram", largest: str = "4MiB", only: tuple[str, ...] = SURFACES, **more
) -> MeasureOptions:
    given = {"quick": True, "repetitions": 3, "only": ",".join(only), "accept_noise": True}
    return MeasureOptions(memory=memory, largest=largest, **given, **more)


def one_kernel(kernel: str, memory: str = "dram", largest: str = "4MiB", **shape) -> dict:
    options = {"memory": memory, "largest": largest, "repetitions": 3} | shape
    return measure_kernel(KernelOptions(kernel=kernel, **options))


@pytest.fixture(scope="module")
def device() -> DeviceProfile:
    return measure(tiny())


def test_a_measured_device_is_a_valid_device(device: DeviceProfile, tmp_path: Path) -> None:
    assert check.check_device(device) is None
    path = tmp_path / "device.json"
    save(device, path)
    assert load(path, DeviceProfile) == device


def test_it_has_the_figures_that_predictions_need(device: DeviceProfile) -> None:
    assert curves.idle_read_latency_ns(device).region_bytes is None
    assert [figure.chains for figure in curves.chains(device)] == list(CHAINS)
    for operation in ("read", "write", "nt-store"):
        assert curves.bandwidth(device, operation).how == "measured"
    assert curves.bandwidth(device, "read", "random").how == "measured"
    assert {figure.page_bytes for figure in device.chains} >= {4096}
    if SEVERAL_CPUS:
        assert {curve.read_share for curve in device.loaded_latency} == {1.0, 0.5}


def test_every_interval_holds_its_value(device: DeviceProfile) -> None:
    for figure in [*device.latency, *device.chains]:
        assert 0 < figure.low_ns <= figure.value_ns <= figure.high_ns
    for figure in device.bandwidth:
        assert 0 < figure.low_gb_per_s <= figure.value_gb_per_s <= figure.high_gb_per_s


def test_the_context_is_recorded(device: DeviceProfile) -> None:
    context = device.measured
    assert context is not None
    assert context.repetitions == 3
    assert context.timer_resolution_ns > 0
    assert {"governor", "steal_share"} <= set(context.environment)
    assert {"latency", "chains", "bandwidth"} <= set(context.noise_floors)
    # 4 MiB is far below any current server's last-level cache: a warning is required.
    if context.llc_bytes > 1 << 20:
        assert any("include cache hits" in warning for warning in context.warnings)


@pytest.mark.timing
def test_memory_is_slower_than_the_first_level() -> None:
    # A region of about the last level's size would be warmed up for seconds before each sample.
    near = one_kernel("chase", memory="dram,pages=4k", largest="64KiB", repetitions=5)
    far = one_kernel("chase", memory="dram,pages=4k", largest="64MiB", repetitions=5)
    ratio = far["results"][0]["value"] / near["results"][0]["value"]
    assert ratio > 3


@pytest.mark.timing
def test_chains_overlap_and_sequential_lines_are_prefetched() -> None:
    large = {"memory": "dram,pages=4k", "largest": "256MiB", "repetitions": 5}
    alone, eight = (
        one_kernel("chains", chains=chains, **large)["results"][0]["value"] for chains in (1, 8)
    )
    assert alone / eight > 2
    sequential = one_kernel("chase-sequential", **large)["results"][0]["value"]
    assert alone / sequential > 2


@pytest.mark.parametrize("kernel", [one["name"] for one in kernel_list()])
def test_every_kernel_can_be_run_alone(kernel: str) -> None:
    result = one_kernel(kernel, largest="1MiB")
    assert result["unit"] in ("ns per access", "GB/s")
    assert all(each["low"] <= each["value"] <= each["high"] for each in result["results"])
    assert all(each["value"] > 0 for each in result["results"])


def test_an_unknown_kernel_and_chains_of_a_kernel_without_chains_are_refused() -> None:
    with pytest.raises(NearfarError, match="did you mean 'chase'"):
        one_kernel("chas")
    with pytest.raises(NearfarError, match="has no chains"):
        one_kernel("read", chains=2)
    with pytest.raises(NearfarError, match="1 to 32 chains"):
        one_kernel("chains", chains=33)


def test_pages_have_the_requested_size() -> None:
    device = measure(tiny("dram,pages=4k", largest="1MiB", only=("idle",)))
    assert {figure.page_bytes for figure in device.latency} == {4096}
    source = source_of(parse_spec("dram"), detect())
    assert huge_share(source(8 << 20, "4k")) < 0.1
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if enabled.exists() and "[never]" not in enabled.read_text():
        assert huge_share(source(8 << 20, "thp")) > 0.5


@pytest.mark.skipif(not SEVERAL_CPUS, reason="a contending core takes a second CPU")
def test_a_contending_core_replaces_latency_under_load() -> None:
    device = measure(tiny("dram,load=store", threads=2, largest="1MiB", only=("idle", "loaded")))
    assert device.loaded_latency == []
    assert any("under load was not measured" in text for text in device.measured.warnings)
    assert device.name == "dram-load-store"


def test_a_single_cpu_reports_what_it_cannot_measure() -> None:
    device = measure(tiny(threads=1, largest="1MiB", only=("idle", "loaded")))
    assert device.loaded_latency == []
    assert any("takes a second CPU" in warning for warning in device.measured.warnings)
    with pytest.raises(NearfarError, match="needs a second CPU"):
        measure(tiny("dram,load=read", threads=1))


def test_a_file_is_measured_and_removed(tmp_path: Path) -> None:
    spec = f"file:{tmp_path}"
    device = measure(tiny(spec, largest="1MiB", only=("idle",)))
    assert list(tmp_path.iterdir()) == []
    direct = is_direct(parse_spec(spec))
    assert device.technology == ("pmem" if direct else "file")
    assert device.durable == direct
    if not direct:
        assert any("page cache" in warning for warning in device.measured.warnings)


def test_a_missing_folder_and_a_folder_without_permission_are_refused() -> None:
    for path in ("/nowhere/at/all", "/proc"):
        with pytest.raises(NearfarError) as refused:
            measure(tiny(f"file:{path}"))
        assert refused.value.exit_code is ExitCode.MACHINE_LACKS


def test_a_missing_node_is_refused() -> None:
    with pytest.raises(NearfarError, match="no NUMA node 999; it has:") as refused:
        measure(tiny("node:999"))
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS


@pytest.mark.skipif(detect().node is None, reason="this kernel has no NUMA nodes")
def test_memory_of_a_node_is_placed_there() -> None:
    node = detect().node
    source = source_of(parse_spec(f"node:{node}"), detect())
    assert set(source(4 << 20, "4k").nodes(16)) == {node}


def test_a_node_that_the_kernel_refuses_is_one_sentence() -> None:
    # The tree has a node that the kernel lacks: the kernel's refusal must be reported.
    promised = Topology((0,), 0, (0, 77), 1 << 20, 0, 1 << 20, True)
    with pytest.raises(NearfarError, match="on node 77"):
        source_of(parse_spec("node:77"), promised)(1 << 20, "4k")


def test_too_few_reserved_huge_pages_explain_how_to_get_them() -> None:
    free = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    if free.exists() and int(free.read_text()) * (2 << 20) >= 8 << 20:
        pytest.skip("this machine has reserved huge pages")
    with pytest.raises(NearfarError, match=r"sysctl vm\.nr_hugepages") as refused:
        measure(tiny("dram,pages=2m"))
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS


def test_more_memory_than_the_machine_has_is_refused() -> None:
    everything = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with pytest.raises(NearfarError, match="choose a smaller --largest"):
        measure(tiny(largest=f"{everything}B"))


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_the_picture(device: DeviceProfile, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"picture{ending}"
    plot(device, path)
    content = path.read_bytes()
    assert len(content) > 10_000
    assert content.startswith(b"\x89PNG" if ending == ".png" else b"<?xml")
