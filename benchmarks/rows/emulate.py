"""Accuracy of delays as far memories: the worst of a chase, chains and a stream."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.documents import Emulation, load
from nearfar.documents.emulation import Probe
from nearfar.emulate.probes import TOLERANCE, worst

SECONDS = 60

TARGETS = (
    "optane-100-1dimm",
    "optane-100-6dimm",
    "cxl-expander-model",
    "ddr4-2666-remote-xeon5218",
)
"""Limited by bandwidth, limited by latency, hardly slower than this machine's memory, another
socket."""
SOURCE = Path(__file__).parents[2] / "examples/continuous_integration/lookup.cpp"
DONE, FOUND = 0, 1
"""Exit statuses: faithful, and not."""


JUDGED = 3
"""Judgements of each target, some minutes apart: a disturbance then affects one judgement of each,
and not the median."""


def rows() -> list[Row]:
    """Measure near memory, then emulate the targets in turn."""
    results: dict[str, list[Emulation]] = {target: [] for target in TARGETS}
    with tempfile.TemporaryDirectory(prefix="nearfar-emulate-") as name:
        folder = Path(name)
        near, program = folder / "near.json", folder / "lookup"
        _nearfar("measure", "dram", "--quick", "--quiet", "--accept-noise", "-o", near)
        _nearfar("c++", "-O2", "-DWIDE", SOURCE, "-o", program)
        for _ in range(JUDGED):
            for target, judged in results.items():
                made = folder / f"{target}.json"
                how = ("--far", target, "--near", near, "--by", "delays", "--quiet")
                _nearfar("emulate", *how, "-o", made, "--", program)
                judged.append(load(made, Emulation))
    return [row_of(target, judged) for target, judged in results.items()]


def row_of(target: str, judged: list[Emulation]) -> Row:
    """Return the median of several judgements of a target, and the number of faithful ones."""
    middle = sorted(judged, key=lambda each: worst(each.probes))[len(judged) // 2]
    faithful = sum(each.faithful for each in judged)
    motions = ", ".join(f"{each.slow_motion:.1f}" for each in judged)
    return make_row(
        f"emulating {target} by delays: worst error of a probe, faithful {faithful} of "
        f"{len(judged)} times, slow motion {motions} ({', '.join(map(_said, middle.probes))})",
        worst(middle.probes) * 100,
        "%",
        bar=TOLERANCE * 100,
        peer="the target's profile",
        command=f"nearfar emulate --far {target} --near near.json --by delays -- ...",
    )


def _said(probe: Probe) -> str:
    low, high = probe.error_range or (probe.error, probe.error)
    return f"{probe.name} {probe.error:+.1%}, its runs {low:+.0%} to {high:+.0%}"


def _nearfar(*arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *arguments], check=False, stdout=subprocess.DEVNULL
    )
    if done.returncode not in (DONE, FOUND):
        raise RuntimeError(f"nearfar {arguments[0]} ended with {done.returncode}")
