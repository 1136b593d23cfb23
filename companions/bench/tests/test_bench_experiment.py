"""Parsing of an experiment's text, refusals, and changes from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar_bench.api import baseline_of, cells
from nearfar_bench.experiment import Experiment, changed, names, read_experiment
from nearfar_bench.memories import every, file_system, find_memory

TEXT = """
title = "a test"
kind = "map"
[arguments]
n = 5
[matrix]
map = ["a", "b"]
memory = ["volatile", "tmpfs"]
[[leave_out]]
map = "b"
memory = ["tmpfs"]
[compare]
memory = "volatile"
"""


def write(folder: Path, text: str) -> str:
    path = folder / "one.toml"
    path.write_text(text)
    return str(path)


def test_cells_are_all_combinations_except_excluded_ones(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, TEXT))
    assert cells(experiment) == [
        {"map": "a", "memory": "volatile"},
        {"map": "a", "memory": "tmpfs"},
        {"map": "b", "memory": "volatile"},
    ]
    assert baseline_of({"map": "a", "memory": "tmpfs"}, experiment.compare) == {
        "map": "a",
        "memory": "volatile",
    }
    assert baseline_of({"map": "a", "memory": "volatile"}, experiment.compare) is None


def test_the_command_line_replaces_arguments(tmp_path: Path) -> None:
    experiment = read_experiment(write(tmp_path, TEXT))
    memories = ["tmpfs,msync", "tmpfs,noflush", "disk"]
    updated = changed(experiment, ["memory=tmpfs,msync,tmpfs,noflush,disk", "n=1,2", "map=a"], 7)
    assert updated.matrix == {"map": ["a"], "memory": memories, "n": ["1", "2"]}
    assert updated.arguments == {}
    assert updated.repeats == 7
    for wrong in ("n", "=1", "n=", "n=1,,2"):
        with pytest.raises(NearfarError):
            changed(experiment, [wrong], None)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title", "titel", "unknown key 'titel'; did you mean 'title'?"),
        ('kind = "map"', "", "the key 'kind' is missing"),
        ("[compare]\nmemory", "[compare]\nmemry", "did you mean 'memory'?"),
        ('["a", "b"]', '"a"', "matrix.map must be a list"),
        ("n = 5", 'memory = "volatile"', "both in [arguments] and in [matrix]"),
        ('map = "b"', 'mop = "b"', "no argument of the experiment; did you mean 'map'?"),
        ("title = ", "title = = ", "is not TOML"),
        ('kind = "map"', "kind = 3", "must be of type str"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, before: str, after: str, message: str) -> None:
    with pytest.raises(NearfarError, match=r"one\.toml") as raised:
        read_experiment(write(tmp_path, TEXT.replace(before, after, 1)))
    assert message in str(raised.value)


def test_every_shipped_experiment_can_be_read() -> None:
    assert {"maps", "map_insert", "map_get", "map_remove"} <= set(names())
    for name in names():
        assert cells(read_experiment(name))
    with pytest.raises(NearfarError, match="did you mean 'map_insert'"):
        read_experiment("map_insrt")


def test_memories_are_found_or_refused() -> None:
    assert find_memory("tmpfs").environment()["PMEM_IS_PMEM_FORCE"] == "1"
    assert find_memory("tmpfs,msync").environment()["PMEM_IS_PMEM_FORCE"] == "0"
    assert not find_memory("volatile").is_pool
    with pytest.raises(NearfarError, match="did you mean 'volatile'"):
        find_memory("volatil")
    with pytest.raises(NearfarError, match="cannot write to the folder"):
        find_memory("file:/no/such/folder")


def test_every_memory_is_read_from_the_mounts(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n/dev/pmem0 /mnt/pm xfs rw,dax 0 0\n"
    )
    (tmp_path / "dax0.0").touch()
    assert {"file:/mnt/pm", f"devdax:{tmp_path / 'dax0.0'}"} <= set(every(mounts, tmp_path))
    assert file_system(Path("/dev/shm/x"), mounts) == "tmpfs"
    assert file_system(Path("/home"), mounts) == "ext4"


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True), st.integers(1, 3))
def test_a_matrix_has_the_product_of_its_lengths(values: list[str], others: int) -> None:
    experiment = Experiment(
        "x", "x", "map", matrix={"k": values, "l": [str(i) for i in range(others)]}
    )
    assert len(cells(experiment)) == len(values) * others
