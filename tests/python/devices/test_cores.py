"""Cores of the library and core files: parsed strictly, each mistake reported in one sentence."""

import re
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from nearfar.base.errors import NearfarError
from nearfar.devices.cores import (
    completed_core,
    core_names,
    core_of_processor,
    load_core,
    plausible_cores,
)
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, MachineProfile, load, save
from nearfar.documents.core import CoreFigure, CoreFigures
from nearfar.documents.device import MeasuredContext
from nearfar.machine.read import read_machine
from nearfar.predict.core_window import CoreUnknowns, core, private_bytes
from nearfar.predict.cores import core_behind, machine_of, unknown_core

SOURCED = 'name = "mine"\n[defaults]\nhow = "assumed"\n'


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", core_names())
def test_cores_of_the_library_have_a_window_and_sources(name: str) -> None:
    figures = load_core(name)
    assert figures.name == name
    assert figures.reorder_window is not None and figures.first_level_cycles is not None
    for key, figure in figures.figures().items():
        assert figure.source in figures.sources, key
    assert core(completed_core(figures), CoreUnknowns(caches=0.5), miss_buffers=10) is not None


@pytest.mark.parametrize("name", core_names())
def test_a_figure_from_memory_is_assumed(name: str) -> None:
    figures = load_core(name)
    unseen = {key for key, source in figures.sources.items() if "not at hand" in source.where}
    for key, figure in figures.figures().items():
        assert figure.how == "assumed" or figure.source not in unseen, key


def test_the_span_covers_every_plausible_core() -> None:
    span = plausible_cores()
    for name in core_names():
        figures = load_core(name)
        for key, figure in figures.figures().items() if figures.plausible else ():
            low, high = span.figures()[key].range
            assert low <= figure.range[0] <= figure.range[1] <= high, (name, key)
    assert span.reorder_window is not None
    assert span.reorder_window.range[0] < span.reorder_window.value


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", "skylake-sp"),
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "cascade-lake"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "ice-lake-sp"),
        ("Intel(R) Xeon(R) Platinum 8488C", "sapphire-rapids"),
        ("INTEL(R) XEON(R) PLATINUM 8592+", "sapphire-rapids"),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "sandy-bridge-ep"),
        ("AMD EPYC 7R32", "zen-2"),
        ("AMD EPYC 7763 64-Core Processor", "zen-3"),
        ("AMD EPYC 9654 96-Core Processor", "zen-4"),
        ("AMD EPYC 9755 128-Core Processor", "zen-5"),
        ("Arm Neoverse-V2", "neoverse-v2"),
        ("Intel(R) Xeon(R) CPU E5-2680 v2 @ 2.80GHz", None),
        ("AMD EPYC", None),
    ],
)
def test_a_processor_has_the_core_of_its_name(processor: str, name: str | None) -> None:
    known = core_of_processor(processor)
    assert (known.name if known is not None else None) == name


@pytest.mark.parametrize(
    ("cpu_id", "name"),
    [
        ("GenuineIntel-6-55-4", "skylake-sp"),
        ("GenuineIntel-6-55-7", "cascade-lake"),
        ("GenuineIntel-6-6A-6", "ice-lake-sp"),
        ("GenuineIntel-6-8F-8", "sapphire-rapids"),
        ("GenuineIntel-6-CF-2", "sapphire-rapids"),
        ("GenuineIntel-6-3E-4", None),
        ("AuthenticAMD-23-31-0", "zen-2"),
        ("AuthenticAMD-23-1-2", None),
        ("AuthenticAMD-25-1-1", "zen-3"),
        ("AuthenticAMD-25-11-1", "zen-4"),
        ("AuthenticAMD-26-2-1", "zen-5"),
        ("AuthenticAMD-26-50-0", None),
        ("0x41-0xd0c", "neoverse-n1"),
        ("0x41-0xd4f", "neoverse-v2"),
        ("", None),
    ],
)
def test_a_processor_whose_name_is_hidden_has_the_core_of_its_id(
    cpu_id: str, name: str | None
) -> None:
    known = core_of_processor("AMD EPYC", cpu_id)
    assert (known.name if known is not None else None) == name


def test_no_id_belongs_to_two_cores() -> None:
    patterns = {
        name: [re.compile(each.pattern) for each in load_core(name).cpu_ids]
        for name in core_names()
    }
    for family, model in product((6, 23, 25, 26), range(256)):
        vendor = "GenuineIntel" if family == 6 else "AuthenticAMD"
        for stepping in range(16):
            cpu_id = f"{vendor}-{family}-{model:X}"
            able = [
                name
                for name, each in patterns.items()
                if any(p.fullmatch(cpu_id) or p.fullmatch(f"{cpu_id}-{stepping:X}") for p in each)
            ]
            assert len(able) <= 1, (cpu_id, able)


def test_a_name_that_tells_comes_before_the_id() -> None:
    named = core_of_processor("AMD EPYC 7763 64-Core Processor", "AuthenticAMD-26-2-1")
    assert named is not None and named.name == "zen-3"


def test_a_guest_whose_processor_hides_its_name_has_a_core() -> None:
    """As here: the kernel says "AMD EPYC", family 26, model 2."""
    near = near_of("AMD EPYC")
    guest = replace(near, producer=replace(near.producer, cpu_id="AuthenticAMD-26-2-1"))
    assert unknown_core(core_behind(near), near)
    assert core_behind(guest).name == "zen-5"
    assert not unknown_core(core_behind(guest), guest)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("reorder_window = 0", "reorder_window is 0: a core has 2 to 16384"),
        ("reorder_window = nan", "reorder_window is nan"),
        ("store_buffer = -1", "store_buffer is -1: a core has above 0"),
        ("reorder = 224", "unknown key 'reorder' of a core; did you mean 'reorder_window'?"),
        ('reorder_window = "many"', "key 'reorder_window': Expected `object | null`, got `str`"),
        ("reorder_window = { value = 1, low = 2 }", "reorder_window is 1: a core has"),
        ("width = { value = 4, high = 3 }", "width: 4 is outside 4 to 3"),
        ("width = 4", "width: an assumed figure needs a note that says why"),
        ('width = { value = 4, how = "published" }', "width: there is no source ''"),
        ("width = ", "it is not valid TOML"),
        ('cpu_models = ["("]', "'(' is no regular expression"),
        ('cpu_ids = [{ pattern = "(", source = "x" }]', "'(' is no regular expression"),
        ('cpu_ids = [{ pattern = "a", source = "x" }]', "cpu_ids: there is no source 'x'"),
    ],
)
def test_a_wrong_core_file_is_refused_in_one_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    head, defaults = SOURCED.split("[defaults]")
    spec = written(tmp_path, f"{head}{text}\n[defaults]{defaults}")
    with pytest.raises(NearfarError) as refused:
        load_core(spec)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(NearfarError, match="there is no core 'zen4'; did you mean 'zen-4'"):
        load_core("zen4")


def near_of(processor: str, llc_bytes: int = 0) -> DeviceProfile:
    """Return a memory measured on a machine with this processor and last-level cache."""
    device = load_device("ddr4-2666-local")
    context = MeasuredContext(
        memory_spec="dram", repetitions=1, seconds=1.0, noise_floor=0.0, timer_resolution_ns=1.0,
        cpus=[0], llc_bytes=llc_bytes, environment={},
    )  # fmt: skip
    made = replace(device.producer, cpu_model=processor, cpu_id="")
    return replace(device, producer=made, measured=context)


def test_the_named_core_overrides_the_measured_core_and_the_processor(tmp_path: Path) -> None:
    machine = read_machine()
    machine.core = CoreFigures(
        name="here", reorder_window=CoreFigure(value=300, low=296, high=304, how="measured")
    )
    save(machine, tmp_path / "machine.json")
    near = near_of("AMD EPYC 9654 96-Core Processor")
    loaded = load(tmp_path / "machine.json", MachineProfile)

    def window_of(figures: CoreFigures) -> float | None:
        return None if figures.reorder_window is None else figures.reorder_window.value

    assert window_of(load_core(str(tmp_path / "machine.json"))) == 300
    assert window_of(core_behind(near, load_core("zen-2"), loaded)) == 224
    assert window_of(core_behind(near, None, loaded)) == 300
    assert core_behind(near).name == "zen-4"
    assert private_bytes(core_behind(near)) == 1 << 20
    unknown = near_of("some processor")
    (caveat,) = unknown_core(core_behind(unknown), unknown)
    assert "the core behind" in caveat and "128 to 512 instructions" in caveat


def test_a_machine_profile_without_a_core_explains_how_to_measure_it(tmp_path: Path) -> None:
    save(read_machine(), tmp_path / "machine.json")
    with pytest.raises(NearfarError, match="has no core: measure it with `nearfar measure core"):
        load_core(str(tmp_path / "machine.json"))


def test_a_machine_profile_of_another_machine_is_not_used() -> None:
    machine = read_machine()
    last = machine.last_level_cache()
    assert last is not None
    near = near_of(machine.cpu_model, last.size_bytes)
    assert machine_of(machine, near) == (machine, [])
    assert machine_of(machine, load_device("xmem-near")) == (machine, [])
    other, (sentence,) = machine_of(machine, near_of(machine.cpu_model, 2 * last.size_bytes))
    assert other is None and "last-level cache" in sentence
    other, (sentence,) = machine_of(machine, near_of("another", last.size_bytes))
    assert other is None and "another machine's and is not used" in sentence
    here = replace(near_of(machine.cpu_model).producer, cpu_id="AuthenticAMD-25-1-1")
    guest = replace(near_of(machine.cpu_model), producer=here)
    machine.cpu_id = "AuthenticAMD-26-2-1"
    other, (sentence,) = machine_of(machine, guest)
    assert other is None and "(AuthenticAMD-25-1-1)" in sentence and "26-2-1" in sentence
