"""How faithfully delays stand for far memories: the worst of a chase, chains and a stream."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import Row, make_row

TARGETS = (
    "optane-100-1dimm",
    "optane-100-6dimm",
    "cxl-expander-model",
    "ddr4-2666-remote-xeon5218",
)
"""Bound by bandwidth, by latency, hardly slower than this machine's own memory, another socket."""
SOURCE = Path(__file__).parents[2] / "examples/continuous_integration/lookup.cpp"
DONE, FOUND = 0, 1
"""Exit statuses: faithful, and not."""


def rows() -> list[Row]:
    """Measure near memory, then emulate each target once."""
    made = []
    with tempfile.TemporaryDirectory(prefix="nearfar-emulate-") as name:
        folder = Path(name)
        near, program = folder / "near.json", folder / "lookup"
        _nearfar("measure", "dram", "--quick", "--quiet", "-o", near)
        _nearfar("c++", "-O2", "-DWIDE", SOURCE, "-o", program)
        for target in TARGETS:
            found = folder / f"{target}.json"
            how = ("--far", target, "--near", near, "--by", "delays", "--quiet")
            _nearfar("emulate", *how, "-o", found, "--", program)
            probes = json.loads(found.read_text())["probes"]
            errors = ", ".join(f"{one['name']} {one['error']:+.1%}" for one in probes)
            made.append(
                make_row(
                    f"emulating {target} by delays: worst error of a probe ({errors})",
                    max(abs(one["error"]) for one in probes) * 100,
                    "%",
                    bar=10.0,
                    peer="the target's profile",
                    command=f"nearfar emulate --far {target} --near near.json --by delays -- ...",
                )
            )
    return made


def _nearfar(*arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *arguments], check=False, stdout=subprocess.DEVNULL
    )
    if done.returncode not in (DONE, FOUND):
        raise RuntimeError(f"nearfar {arguments[0]} ended with {done.returncode}")
