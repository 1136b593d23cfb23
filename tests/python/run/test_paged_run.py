"""Runs with limited memory and a paged memory for the rest."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from swap_alone import permitted, swap_alone

from nearfar.__main__ import main
from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.memories.paged.group import find_group_parent
from nearfar.options.run import RunOptions
from nearfar.run.paged_run import far_spec, near_share

# 48 MiB of pages that do not repeat, each touched five times; argument: a library to lock them by.
TOUCH = """
import mmap, random, sys
size = 48 << 20
pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    pages[at:at + 2048] = random.randbytes(2048)
if len(sys.argv) > 1:
    import ctypes
    sys.exit(ctypes.CDLL(None).mlockall(1))
order = list(range(0, size, 4096))
for _ in range(5):
    random.shuffle(order)
    sum(pages[at] for at in order)
"""


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with swap_alone():
        yield tmp_path / "cache/nearfar/paged"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"far": "zram"}, "--far and --near belong together"),
        ({"near": "60%"}, "--far and --near belong together"),
        ({"yes": True}, "--yes is for --far"),
        ({"far": "zram", "near": "60%", "policy": "interleave"}, "without a plan"),
        ({"far": "zram", "near": "60%", "map": ["far=node:1"]}, "without a plan"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        RunOptions(program=["true"], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("near", "why"),
    [
        ("0%", "more than 0"),
        ("101%", "at most 100 %"),
        ("4KiB", "below the least of any program"),
        ("most", "cannot read the size"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(near: str, why: str) -> None:
    with pytest.raises(NearfarError, match=why):
        near_share(near)


def test_a_limit_is_a_share_or_a_size() -> None:
    assert near_share("62.5%") == 0.625
    assert near_share("300MiB") is None


def test_a_memory_that_is_not_paged_is_refused_with_the_way_to_use_it() -> None:
    with pytest.raises(CommandError, match="--map far=node:1"):
        far_spec(RunOptions(program=["true"], far="node:1", near="60%"))


@permitted
def test_without_yes_the_program_does_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    run = ["run", "--far", "zram", "--near", "60%", "--", "touch", str(made)]
    assert main(run) == ExitCode.DONE
    assert not made.exists()
    shown = capsys.readouterr().out
    assert "mkswap /dev/zramN" in shown
    assert f"touch {made}  # in the group" in shown


@permitted
def test_a_limited_program_faults_and_the_machine_is_as_before(
    tmp_path: Path, journals: Path
) -> None:
    output = tmp_path / "run.json"
    ballast = bytes(range(256)) * (1 << 20)  # the program's peak is not that of this process
    run = ["run", "--far", "zram", "--near", "50%", "--yes", "-q", "-o", str(output)]
    assert main([*run, "--", sys.executable, "-c", TOUCH]) == ExitCode.DONE
    paged = json.loads(output.read_text())["paged"]
    assert 48 << 20 < paged["full_bytes"] < len(ballast) / 2
    assert paged["budget_bytes"] == pytest.approx(paged["full_bytes"] / 2, abs=4096)
    # A relief raises the limit by 128 KiB for a moment.
    assert paged["peak_bytes"] <= paged["budget_bytes"] + (paged["reliefs"] << 17)
    # About 12 MiB of the 48 are too many, and each page is touched five times.
    assert paged["swap_ins"] > 3000
    assert paged["major_faults"] >= paged["swap_ins"] / 2
    assert paged["swap_outs"] > 3000
    assert paged["killed"] == 0
    assert list(journals.iterdir()) == []
    assert not list(find_group_parent().parent.glob(f"nearfar-{os.getpid()}-*"))


@permitted
def test_a_limit_below_what_is_locked_ends_the_program_with_the_reason(
    tmp_path: Path, journals: Path
) -> None:
    output = tmp_path / "run.json"
    run = ["run", "--far", "zram", "--near", "30MiB", "--yes", "-q", "-o", str(output)]
    status = main([*run, "--", sys.executable, "-c", TOUCH, "lock"])
    record = json.loads(output.read_text())
    assert status == ExitCode.PROGRAM_FAILED
    if record["paged"]["killed"]:
        assert "below what it needs at once" in record["warnings"][0]
    else:  # the kernel refused to lock that much
        assert record["exit_status"] != "exited 0"
    assert list(journals.iterdir()) == []
