"""Whole programs rest while the cores are elsewhere, and cores are kept awake."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.contention import companion
from nearfar.contention.program_memory import program_memory
from nearfar.measure import topology
from nearfar.validate import whole_program
from nearfar.validate.kernel import build
from nearfar.validate.placement import Placement
from nearfar.validate.whole_program import Program, ProgramRun

HERE_NS, ELSEWHERE_NS = 33.0, 170.0
BUSY_S = 0.8


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    return build(("triad",), folder, lambda _: None)["triad"].plain


def _run(launcher: Path, looks: Iterable[float], words: str) -> ProgramRun | None:
    program = Program([sys.executable, "-c", words], Path(sys.executable), dict(os.environ))
    times_ns = iter(looks)
    placement = Placement(lambda: next(times_ns))
    cpu = min(os.sched_getaffinity(0))
    found, began = whole_program.run(
        program,
        program_memory("dram", topology.detect()),
        cpu,
        launcher,
        companion=None,
        placement=placement,
    )
    assert began == 0
    return found


BUSY = f"import time\nwhile time.process_time() < {BUSY_S}: pass"


def test_a_program_runs_to_its_end_and_its_time_is_that_of_its_cpu(launcher: Path) -> None:
    found = _run(launcher, itertools.repeat(HERE_NS), BUSY)
    assert found is not None
    assert found.ns >= BUSY_S * 1e9


def test_it_rests_until_the_cores_come_back(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_program, "MOST_ELSEWHERE", 0.5)
    away = [HERE_NS] * 2 + [ELSEWHERE_NS] * 40
    began = time.monotonic()
    found = _run(launcher, itertools.chain(away, itertools.repeat(HERE_NS)), BUSY)
    assert found is not None
    # Of the looks elsewhere, all but the first were between rests.
    assert time.monotonic() - began > BUSY_S + 39 * whole_program.LOOK_AGAIN_S


def test_a_run_that_was_elsewhere_too_often_is_none(launcher: Path) -> None:
    assert _run(launcher, itertools.cycle([HERE_NS, ELSEWHERE_NS]), BUSY) is None


def test_cores_that_do_not_come_back_end_the_run(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_program, "REST_S", 0.1)
    looks = itertools.chain([HERE_NS], itertools.repeat(ELSEWHERE_NS))
    began = time.monotonic()
    assert _run(launcher, looks, "import time; time.sleep(60)") is None
    assert time.monotonic() - began < 30


def test_a_program_that_fails_says_so(launcher: Path) -> None:
    with pytest.raises(NearfarError, match="ended with 3"):
        _run(launcher, itertools.repeat(HERE_NS), "raise SystemExit(3)")


def _awake(count: int) -> list[int]:
    """Return our children that spin, once there are so many: what a program was called with is
    there a moment after it began, and these give way to all else.
    """
    until = time.monotonic() + 30.0
    while len(found := _spinners()) < count and time.monotonic() < until:
        time.sleep(0.01)
    return found


def _spinners() -> list[int]:
    """Return our children that spin."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            spins = (one / "cmdline").read_bytes().endswith(b"\0spin\0")
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended
        if spins and parent == os.getpid():
            found.append(int(one.name))
    return found


def _comes_to(pid: int, state: str) -> bool:
    """Say whether a process comes to a state; signals take effect a little later."""
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state:
            return True
    return False


def test_cores_sleep_during_a_nap_and_are_awake_after_it(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with companion.awake(launcher, cpus) as nap:
        spinners, asleep = _awake(len(cpus)), list[bool]()

        def look(seconds: float) -> None:
            assert seconds == companion.NAP_S
            asleep.extend(_comes_to(pid, "T") for pid in spinners)

        monkeypatch.setattr(companion.time, "sleep", look)
        nap()
        monkeypatch.undo()
        assert asleep == [True] * len(spinners) != []
        assert all(_comes_to(pid, "R") for pid in spinners)


def test_what_keeps_a_core_awake_gives_way_and_ends(launcher: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    with companion.awake(launcher, [cpu, cpu]):
        (pid,) = _awake(1)
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        assert os.sched_getaffinity(pid) == {cpu}
        # Of our session: Linux would share out the core between sessions first.
        assert os.getsid(pid) == os.getsid(0)
    assert not _spinners()
