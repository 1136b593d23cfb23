"""Per-thread files of MLC: lines of its manual, of OCP and of the guide, and every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import CommandError
from nearfar_like.bench import BufferPlace
from nearfar_like.mlc.modes.loaded_latency import read_delays
from nearfar_like.mlc.thread_file import ThreadLine, read_thread_file

KIB, MIB = 1 << 10, 1 << 20


def read(tmp_path: Path, text: str) -> list[ThreadLine]:
    path = tmp_path / "perthreadfile"
    path.write_text(text)
    return read_thread_file(path)


def test_lines_of_the_manual(tmp_path: Path) -> None:
    lines = read(
        tmp_path,
        "# comment\n"
        "0-7,16-23 R rand 30000 dram 0\n"
        "\n"
        "8 W5 seq 200m pmem /mnt/pmem0  # the guide's size\n"
        "9-10 R seq 100000 pmem /mnt/pmfs1 50\n"
        "11 W2 seq 1g dram\n",
    )
    first, second, third, fourth = lines
    assert first.cpus == (*range(8), *range(16, 24))
    assert (first.traffic.name, first.random, first.size_bytes) == ("R", True, 30000 * KIB)
    assert first.place == BufferPlace(0)
    assert (second.size_bytes, second.place) == (200 * MIB, BufferPlace(folder=Path("/mnt/pmem0")))
    assert (third.delay, second.delay) == (50, None)
    assert fourth.place == BufferPlace()
    assert first.where.endswith("perthreadfile, line 2")


def test_two_streams(tmp_path: Path) -> None:
    (line,) = read(tmp_path, "4-7 W21 seq 100000 dram 1 pmem /mnt/pmfs1 10\n")
    assert (line.place, line.second) == (BufferPlace(1), BufferPlace(folder=Path("/mnt/pmfs1")))
    assert line.second_percent == 10


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0 R seq 200m", "4 fields where there should be"),
        ("0 - 7 R seq 200m dram 0", "'-' is no traffic type"),
        ("0-7 R sequential 200m dram 0", "the order is seq or rand"),
        ("0-7 R seq 200q dram 0", "'200q' is no size"),
        ("0-7 W4 seq 200m dram 0", "'W4' is no traffic type"),
        ("0-7 R seq 200m drum 0", "did you mean 'dram'"),
        ("0-7 R seq 200m dram one", "no whole number"),
        ("0-7 R seq 200m pmem", "pmem needs a folder"),
        ("0-7 R seq 200m dram 0 50 60", "8 fields, at most 7"),
        ("0-7 R seq 200m dram 0 fast", "no whole number"),
        ("7-0 R seq 200m dram 0", "no list of CPUs"),
        ("0 W21 seq 200m dram 0 dram 1", "8 fields where there should be"),
        ("0 W21 rand 200m dram 0 dram 1 10", "sequential only"),
        ("0 W21 seq 200m dram 0 dram 1 15", "one of 10, 25, 50 percent"),
        ("0 W23 seq 200m dram 0 dram 1 50", "one of 10, 25 percent"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        read(tmp_path, f"# first\n1 R seq 200m dram\n{line}\n")
    assert says in str(caught.value)
    assert "perthreadfile, line 3" in str(caught.value)


def test_a_cpu_has_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"line 2: CPU 3 already has work by .*line 1"):
        read(tmp_path, "0-3 R seq 200m dram\n3 W2 seq 200m dram\n")


def test_invalid_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has no line"):
        read(tmp_path, "# nothing\n")
    with pytest.raises(CommandError, match="No such file"):
        read_thread_file(tmp_path / "nowhere")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="no text file"):
        read_thread_file(tmp_path / "binary")


def test_delays(tmp_path: Path) -> None:
    path = tmp_path / "delays"
    path.write_text("0\n50 # some\n\n20000\n")
    assert read_delays(path) == (0, 50, 20000)
    path.write_text("0\nfast\n")
    with pytest.raises(CommandError, match="delays, line 2"):
        read_delays(path)
    path.write_text("# none\n")
    with pytest.raises(CommandError, match="has no delay"):
        read_delays(path)
