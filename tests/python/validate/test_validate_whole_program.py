"""Whole programs wait while the cores are in another pairing."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from patience import patience

from nearfar.base.errors import NearfarError
from nearfar.contention.program_memory import program_memory
from nearfar.memories import topology
from nearfar.validate import whole_program
from nearfar.validate.core_pairing import CorePairings
from nearfar.validate.kernel import build
from nearfar.validate.whole_program import ProgramRun, WholeProgram

FIRST_NS, OTHER_NS = 33.0, 170.0
BUSY_S = 0.8


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    return build(("triad",), folder, lambda _: None)["triad"].plain


def _run(launcher: Path, times_ns: Iterable[float], words: str) -> ProgramRun | None:
    program = WholeProgram([sys.executable, "-c", words], Path(sys.executable), dict(os.environ))
    transfers = iter(times_ns)
    pairings = CorePairings(lambda: next(transfers))
    cpu = min(os.sched_getaffinity(0))
    run, first = whole_program.run(
        program,
        program_memory("dram", topology.detect()),
        cpu,
        launcher,
        co_runner=None,
        pairings=pairings,
    )
    assert first == 0
    return run


BUSY = f"import time\nwhile time.process_time() < {BUSY_S}: pass"


@pytest.mark.timing
def test_a_program_runs_to_its_end_and_its_time_is_cpu_time(launcher: Path) -> None:
    run = _run(launcher, itertools.repeat(FIRST_NS), BUSY)
    assert run is not None
    assert run.ns >= BUSY_S * 1e9


@pytest.mark.timing
def test_it_waits_until_the_cores_return(launcher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_program, "MAX_MOVED_SHARE", 0.5)
    away = [FIRST_NS] * 2 + [OTHER_NS] * 40
    began = time.monotonic()
    run = _run(launcher, itertools.chain(away, itertools.repeat(FIRST_NS)), BUSY)
    assert run is not None
    # All probes in the other pairing except the first were during the wait.
    assert time.monotonic() - began > BUSY_S + 39 * whole_program.WAIT_PROBE_S


def test_a_run_whose_cores_moved_too_often_is_dropped(launcher: Path) -> None:
    assert _run(launcher, itertools.cycle([FIRST_NS, OTHER_NS]), BUSY) is None


@pytest.mark.timing
def test_cores_that_do_not_return_end_the_run(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_program, "MAX_WAIT_S", 0.1)
    times_ns = itertools.chain([FIRST_NS], itertools.repeat(OTHER_NS))
    began = time.monotonic()
    assert _run(launcher, times_ns, "import time; time.sleep(60)") is None
    assert time.monotonic() - began < patience(30)


def test_a_program_that_fails_is_refused(launcher: Path) -> None:
    with pytest.raises(NearfarError, match="ended with 3"):
        _run(launcher, itertools.repeat(FIRST_NS), "raise SystemExit(3)")
