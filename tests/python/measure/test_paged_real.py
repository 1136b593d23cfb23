"""Paged memories of this machine, where root may set them up; the machine is as before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import patience
from swap_alone import swap_alone

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.library import load_device
from nearfar.measure.paged.measure import EXCHANGE_ROUNDS, exchange_ns
from nearfar.measure.paged.sampler import LIMIT_SWEEPS, MAX_KILLS, WorkerProcess
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import find_group_parent
from nearfar.memories.paged.ledger import undo_dead
from nearfar.memories.spec import parse_spec


def _why_not(text: str) -> str:
    try:
        find_group_parent()
    except NearfarError as error:
        return str(error)
    return set_up.missing(parse_spec(text, paged=True))


pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(bool(_why_not("zram")), reason=_why_not("zram") or "possible"),
]


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with swap_alone():
        yield tmp_path / "cache/nearfar/paged"


def _groups(pid: int) -> list[Path]:
    return list(find_group_parent().parent.glob(f"nearfar-{pid}-*"))


SMALL = ["--largest", "4MiB", "--repetitions", "2", "--quiet", "--yes"]


def test_without_yes_nothing_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "zram"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "mkswap /dev/zramN" in shown
    assert "--yes does it" in shown
    assert not _groups(os.getpid())


@pytest.mark.parametrize("kills", [1, MAX_KILLS])
def test_a_sample_is_taken_again_where_the_kernel_kills(
    kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, left = WorkerProcess.ask, [kills]

    def killed(worker: WorkerProcess, do: str, **request: object) -> dict[str, Any]:
        if do == "touch" and left[0]:
            left[0] -= 1
            worker._process.kill()
        return ask(worker, do, **request)

    monkeypatch.setattr(WorkerProcess, "ask", killed)
    spec = parse_spec("zram", paged=True)
    if kills < MAX_KILLS:
        assert len(exchange_ns(spec, 4 << 20)) == EXCHANGE_ROUNDS * LIMIT_SWEEPS
    else:
        with pytest.raises(NearfarError, match="swap or memory is full"):
            exchange_ns(spec, 4 << 20)
    assert left == [0]
    assert not _groups(os.getpid())


@pytest.mark.parametrize("kind", ["zram", "swap"])
def test_a_paged_memory_is_measured_and_taken_down(
    kind: str, tmp_path: Path, journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = kind if kind == "zram" else f"swap:{Path.cwd() / f'{os.getpid()}.swap'}"
    output = tmp_path / "paged.json"
    status = main(["measure", spec, *SMALL, "-o", str(output)])
    assert list(journals.iterdir()) == []
    if "`swapon" in (why := capsys.readouterr().err):
        pytest.skip(why)  # a file system that holds no swap files
    assert status == ExitCode.DONE, why
    assert not _groups(os.getpid())
    device = load_device(str(output))
    assert device.paged is not None
    assert device.paged.in_dram == (kind == "zram")
    events = {row.event for row in device.faults}
    assert events == {"fault", "evict", "exchange"}
    faults = [row for row in device.faults if row.event == "fault"]
    assert all(row.value_ns > 100 for row in faults), "a fault is no access"
    assert {row.operation for row in faults} == {"read", "write"}
    again = [row for row in device.faults if row.retouches]
    # Of touches at random with a half, three quarters and nine tenths near.
    assert len(again) == 3
    retouches = [row.retouches or 0.0 for row in again]
    assert 0.2 < min(retouches) < 0.8
    assert max(retouches) > 2
    assert all(row.event == "exchange" and row.value_ns > 100 for row in again)
    shares = [row.compressed_share for row in faults if row.compressed_share is not None]
    assert bool(shares) == (kind == "zram")
    assert not shares or max(shares) > min(shares) + 0.3


def test_a_killed_measurement_is_cleared_by_the_next_start(tmp_path: Path, journals: Path) -> None:
    code = "from nearfar.__main__ import main; import sys; sys.exit(main())"
    command = [sys.executable, "-c", code, "measure", "zram", "--yes", "--quiet", "--json"]
    process = subprocess.Popen(
        [*command, "--largest", "4MiB", "--seconds", "600"], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + patience(60)
    while not (groups := _groups(process.pid)) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert groups
    left = [json.loads(line.split(" ", 1)[1]) for line in _lines(journals)]
    device = next(act["path"] for act in left if act["kind"] == "swapoff")
    assert undo_dead(journals) == 1
    assert not _groups(process.pid)
    assert not Path(device).exists()
    assert list(journals.iterdir()) == []


def _lines(folder: Path) -> list[str]:
    return [line for path in folder.iterdir() for line in path.read_text().splitlines()]
