"""Set-up of paged memories, and refusals before anything is changed."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.journal import Journal
from nearfar.memories.paged import acts, set_up
from nearfar.memories.paged.acts import Act
from nearfar.memories.paged.ledger import Ledger, open_ledger, undo_dead
from nearfar.memories.spec import MemorySpec, parse_spec

MIB = 1 << 20


def spec(text: str) -> MemorySpec:
    return parse_spec(text, paged=True)


@pytest.fixture
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/nearfar/paged"


@pytest.mark.parametrize(
    "text", ["zram", "zram,algorithm=lz4", "zswap", "zswap:/x/y,algorithm=zstd", "swap:/x/y"]
)
def test_a_paged_spec_is_printed_as_typed(text: str) -> None:
    assert str(spec(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("zram:0", "a device of its own"),
        ("swap:", "needs the path"),
        ("zswap:", "needs the path"),
        ("zram,algorithm=lz5", "must be one of lzo"),
        ("swap:/x,algorithm=lz4", "is for zram, zswap"),
        ("zram,pages=4k", "is for dram"),
    ],
)
def test_bad_paged_specs_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NearfarError, match=why):
        spec(text)


def test_a_paged_memory_is_refused_where_data_is_to_be_put() -> None:
    with pytest.raises(NearfarError, match="nearfar run --far zram"):
        parse_spec("zram")


def test_zram_is_shown_step_by_step_with_its_end() -> None:
    lines = set_up.command_lines(spec("zram,algorithm=lz4"), 64 * MIB)
    assert lines == [
        "cat /sys/class/zram-control/hot_add  # makes zramN",
        "echo lz4 > /sys/block/zramN/comp_algorithm",
        f"echo {64 * MIB} > /sys/block/zramN/disksize",
        "mkswap /dev/zramN",
        "swapon --priority 32767 /dev/zramN",
        "swapoff /dev/zramN  # at the end",
        "echo N > /sys/class/zram-control/hot_remove  # at the end",
    ]


def test_a_swap_file_is_made_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "swap"
    assert set_up.command_lines(spec(f"swap:{path}"), MIB) == [
        f"fallocate -l {MIB} {path}",
        f"mkswap {path}",
        f"swapon --priority 32767 {path}",
        f"swapoff {path}  # at the end",
        f"rm {path}  # at the end",
    ]
    assert set_up.swap_path(spec(f"swap:{tmp_path}")).parent == tmp_path


def test_what_a_machine_lacks_is_said(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert "no swap" in set_up.missing(spec("zram"), tmp_path)
    (tmp_path / "proc").mkdir()
    swaps = tmp_path / "proc/swaps"
    swaps.write_text("Filename Type Size Used Priority\n")
    assert "modprobe zram" in set_up.missing(spec("zram"), tmp_path)
    assert "no zswap" in set_up.missing(spec("zswap"), tmp_path)
    parameters = tmp_path / "sys/module/zswap/parameters"
    parameters.mkdir(parents=True)
    (parameters / "enabled").write_text("N\n")
    assert set_up.missing(spec("zswap"), tmp_path) == ""
    swaps.write_text("Filename Type Size Used Priority\n/dev/sda2 partition 1000 0 -2\n")
    assert "other swap is in use" in set_up.missing(spec("zswap"), tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may swap")
def test_another_user_is_sent_to_root() -> None:
    with pytest.raises(NearfarError, match="needs root") as refused:
        set_up.check(spec("zram"), MIB)
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS


def test_a_file_that_is_there_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_up, "missing", lambda _spec, _root: "")
    path = tmp_path / "mine"
    path.write_text("precious")
    with pytest.raises(NearfarError, match="content would be lost"):
        set_up.check(spec(f"swap:{path}"), MIB)
    with pytest.raises(NearfarError, match="swap would be full"):
        set_up.check(spec(f"swap:{tmp_path / 'new'}"), 1 << 60)
    with pytest.raises(NearfarError, match="cannot make a swap file"):
        set_up.check(spec(f"swap:{tmp_path / 'no/new'}"), MIB)
    assert path.read_text() == "precious"


def test_everything_is_undone_in_reverse_and_the_journal_goes(
    tmp_path: Path, journals: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with open_ledger() as ledger:
        _made(ledger, first)
        _made(ledger, second)
        assert first.stat().st_size == second.stat().st_size == 8192
        assert len(list(journals.iterdir())) == 1
    assert not first.exists()
    assert not second.exists()
    assert list(journals.iterdir()) == []


def test_a_failed_act_undoes_those_before(tmp_path: Path, journals: Path) -> None:
    first = tmp_path / "first"
    with pytest.raises(NearfarError, match="fallocate"), open_ledger() as ledger:
        _made(ledger, first)
        _made(ledger, tmp_path / "no" / "second")
    assert not first.exists()
    assert list(journals.iterdir()) == []


def test_the_next_start_undoes_what_a_dead_run_left_and_spares_a_living_one(
    tmp_path: Path, journals: Path
) -> None:
    dead, alive = tmp_path / "dead", tmp_path / "alive"
    journals.mkdir(parents=True)
    with Journal.open(journals / "7-dead.journal", Act) as journal:
        Ledger(journal).do(Act("allocate", str(dead), "8192"), Act("unlink", str(dead)))
    with open_ledger() as ledger:  # another run, which lives
        assert not dead.exists()
        _made(ledger, alive)
        assert undo_dead() == 0
        assert alive.exists()


def test_what_could_not_be_undone_stays_for_the_next_start(tmp_path: Path, journals: Path) -> None:
    stubborn = tmp_path / "folder"
    stubborn.mkdir()  # unlink refuses a folder
    with pytest.raises(NearfarError, match="the machine is not as before"), open_ledger() as ledger:
        ledger.record(Act("unlink", str(stubborn)))
    assert len(list(journals.iterdir())) == 1
    stubborn.rmdir()
    assert undo_dead() == 1
    assert list(journals.iterdir()) == []


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_undoing_is_held_back_until_its_end(
    tmp_path: Path, journals: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    made, undo = tmp_path / "made", Ledger.undo

    def interrupted(ledger: Ledger) -> None:
        os.kill(os.getpid(), ending)
        undo(ledger)

    monkeypatch.setattr(Ledger, "undo", interrupted)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), open_ledger() as ledger:
        _made(ledger, made)
    assert not made.exists()
    assert list(journals.iterdir()) == []
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_the_run_and_its_changes_are_undone(
    tmp_path: Path, journals: Path, ending: signal.Signals
) -> None:
    made = tmp_path / "made"
    with pytest.raises(KeyboardInterrupt), open_ledger() as ledger:
        _made(ledger, made)
        os.kill(os.getpid(), ending)
        pytest.fail("the run went on")
    assert not made.exists()
    assert list(journals.iterdir()) == []


def test_swapoff_goes_on_after_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [errno.EINTR, errno.EINTR, 0]

    def swapoff(path: bytes) -> int:
        ctypes.set_errno(ends.pop(0))
        return -1 if ctypes.get_errno() else 0

    library = SimpleNamespace(swapoff=swapoff)
    monkeypatch.setattr(acts.ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(acts, "is_swap", lambda _path: True)
    Act("swapoff", "/dev/zram7").do()
    assert ends == []
    ends.append(errno.ENOMEM)
    with pytest.raises(NearfarError, match="swapoff /dev/zram7"):
        Act("swapoff", "/dev/zram7").do()


def _made(ledger: Ledger, path: Path) -> None:
    ledger.do(Act("allocate", str(path), "8192"), Act("unlink", str(path)))
