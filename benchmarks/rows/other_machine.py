"""Time of `predict --on MACHINE` for ten memories, including the process's start.

One thread computes, so its CPU time equals wall time on an idle machine.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.devices.library import device_names

SECONDS = 5
QUICK = True

PROFILE = Path(__file__).parents[2] / "tests" / "golden" / "inputs" / "lookup-wide.json"
REPETITIONS = 5


def rows() -> Iterable[Row]:
    """Time the verb."""
    fars = [word for name in device_names()[:10] for word in ("--far", name)]
    words = ["predict", str(PROFILE), "--on", "cxl-dmsim", "--near-time", "36.2s", *fars]
    seconds = []
    for _ in range(REPETITIONS):
        begin = _cpu_seconds()
        subprocess.run(
            [sys.executable, "-m", "nearfar", *words, "--json"], check=True, stdout=subprocess.PIPE
        )
        seconds.append(_cpu_seconds() - begin)
    yield make_row(
        "predict --on, ten memories",
        statistics.median(seconds),
        "s",
        bar=2,
        peer="",
        command="nearfar predict run.json --on cxl-dmsim --near-time 36.2s --far A --far B ...",
    )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
