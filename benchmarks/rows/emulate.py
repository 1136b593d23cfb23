"""Accuracy of delays as far memories: the worst of a chase, chains and a stream."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.documents import Emulation, load
from nearfar.documents.emulation import Probe
from nearfar.emulate.probes import TOLERANCE, worst

SECONDS = 336

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


def rows() -> Iterator[Row]:
    """Measure near memory, then emulate each target."""
    with tempfile.TemporaryDirectory(prefix="nearfar-emulate-") as name:
        folder = Path(name)
        near, program = folder / "near.json", folder / "lookup"
        _nearfar("measure", "dram", "--quick", "--quiet", "--accept-noise", "-o", near)
        _nearfar("c++", "-O2", "-DWIDE", SOURCE, "-o", program)
        for target in TARGETS:
            made = folder / f"{target}.json"
            how = ("--far", target, "--near", near, "--by", "delays", "--quiet")
            _nearfar("emulate", *how, "-o", made, "--", program)
            yield row_of(target, load(made, Emulation))


def row_of(target: str, judged: Emulation) -> Row:
    """Return the worst error of a probe, which the median of several rounds has."""
    return make_row(
        f"emulating {target} by delays: worst error of a probe",
        worst(judged.probes) * 100,
        "%",
        bar=TOLERANCE * 100,
        peer="the target's profile",
        command=f"nearfar emulate --far {target} --near near.json --by delays -- ...",
        note=f"slow motion {judged.slow_motion:.1f}; {', '.join(map(_said, judged.probes))}",
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
