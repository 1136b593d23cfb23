"""Time-outs grow on a busy machine, and still end what hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import extend_alarm, machine_factor, patience

ROOT = Path(__file__).parents[2]


class HangError(Exception):
    """The alarm ended the work."""


@pytest.fixture
def own_alarm() -> Iterator[None]:
    """Lend the test this process' alarm, which pytest's own time-out uses."""
    handler = signal.getsignal(signal.SIGALRM)
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)

    def end(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGALRM, end)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, left_s)


@pytest.mark.usefixtures("own_alarm")
@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_work_may_take_as_much_longer_as_the_machine_is_slower(factor: float) -> None:
    seconds = 0.2
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    extend_alarm(seconds, lambda: factor)
    with pytest.raises(HangError):
        time.sleep(patience(30))
    took_s = time.monotonic() - started
    assert took_s >= seconds * max(factor, machine_factor())


def test_a_test_that_hangs_is_ended(tmp_path: Path) -> None:
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text(
        "import time, pytest\n\n\n@pytest.mark.timeout(0.5)\n"
        "def test_hangs():\n    time.sleep(10_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", f"--rootdir={tmp_path}", hanging],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=patience(100),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Timeout (>0.5s) from pytest-timeout" in done.stdout
