"""Broken trees, and folders that are no machine: one sentence that names the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machine_trees import expand, make

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.machine.detect import llc
from nearfar.machine.read import read_machine

CACHE = "sys/devices/system/cpu/cpu0/cache/index3"
NODE = "sys/devices/system/node"


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("sys/devices/system/cpu/online", "0-x", "a list such as 0-3,8"),
        (f"{CACHE}/size", "big", "a size such as 32768K"),
        (f"{CACHE}/ways_of_associativity", "many", "a whole number"),
        (f"{CACHE}/shared_cpu_list", "0;1", "a list such as 0-3,8"),
        (f"{NODE}/node0/distance", "10 20", "1 distances"),
        (f"{NODE}/node0/meminfo", "Node 0 MemTotal: lots kB", "a size in kB"),
        (f"{NODE}/node0/meminfo", "", "has no line MemTotal"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always", "a choice such as [madvise]"),
        ("proc/sys/kernel/perf_event_paranoid", "two", "a whole number"),
    ],
)
def test_nonsense_in_a_file_is_refused(
    tmp_path: Path, path: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make("vm-one-node", tmp_path)
    (tmp_path / "sys/bus/event_source/devices/cpu").mkdir()
    (tmp_path / path).write_text(text + "\n")
    assert main(["machine", "--root", str(tmp_path)]) == ExitCode.WRONG_USE
    message = capsys.readouterr().err
    assert said in message
    assert str(tmp_path / path) in message
    assert message.count("\n") == 1


def test_a_folder_that_is_no_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match="no such folder"):
        read_machine(tmp_path / "absent")
    with pytest.raises(NearfarError, match="neither sys nor proc"):
        read_machine(tmp_path)
    (tmp_path / "sys").mkdir()
    with pytest.raises(NearfarError, match="no CPU is listed"):
        read_machine(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NearfarError, match="no such folder"):
        read_machine(file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    make("vm-one-node", tmp_path)
    (tmp_path / "sys/devices/system/cpu/online").chmod(0)
    with pytest.raises(NearfarError, match="permission denied") as refusal:
        read_machine(tmp_path)
    assert refusal.value.exit_code == ExitCode.MACHINE_LACKS


def test_an_unreadable_file_is_refused_for_root_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is simulated, because root can read a file with any mode."""
    make("vm-one-node", tmp_path)
    honest = Path.read_text

    def refuse(self: Path, *args: object, **kwargs: object) -> str:
        if self.name == "online":
            raise PermissionError(13, "Permission denied")
        return honest(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(NearfarError, match="permission denied") as refusal:
        read_machine(tmp_path)
    assert refusal.value.exit_code == ExitCode.MACHINE_LACKS


def test_an_unknown_last_level_is_not_guessed(tmp_path: Path) -> None:
    expand("proc/cpuinfo:\n    processor\t: 0\n", tmp_path)
    with pytest.raises(NearfarError, match="last-level cache is unknown"):
        llc(tmp_path)


def test_a_file_that_the_kernel_refuses_to_read_counts_as_absent(tmp_path: Path) -> None:
    """A folder in a file's place answers a read with an error, as some sysfs files do."""
    make("vm-one-node", tmp_path)
    path = tmp_path / f"{NODE}/node0/distance"
    path.unlink()
    path.mkdir()
    assert read_machine(tmp_path).nodes[0].distances == {"0": 10}


@pytest.mark.parametrize(
    "manifest", ["no entry", "a = 1\na = 2", "a = 1\na/b = 2"], ids=["shape", "twice", "under"]
)
def test_a_broken_manifest_names_its_line(manifest: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line [12] of the manifest"):
        expand(manifest, tmp_path)


def test_a_manifest_creates_files_links_folders_and_ranges(tmp_path: Path) -> None:
    expand("a{0-1,3}/id = n{}\nb:\n    one\n    two\nc -> a1/id\nd/\n", tmp_path)
    assert [(tmp_path / f"a{n}/id").read_text() for n in (0, 1, 3)] == ["n0\n", "n1\n", "n3\n"]
    assert (tmp_path / "b").read_text() == "one\ntwo\n"
    assert (tmp_path / "c").read_text() == "n1\n"
    assert (tmp_path / "d").is_dir()
