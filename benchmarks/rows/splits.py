"""Splits of types that are proposed, against the profile of the program that was split so.

The programs are in examples/splits. They were known while the rules were made. Their data is four
times as large as this machine's last-level cache, so that near time contains the misses that the
profile counts. Where a virtual machine shows the cache of a whole processor, data is 256 MiB, and a
cache of a quarter of that is simulated.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents import WorkloadProfile, load
from nearfar.machine.detect import llc
from nearfar.native_files import native_folder
from nearfar.place.hot_cold import HotCold
from nearfar.place.split_profile import split_profile
from nearfar.place.splits import JudgedMemories, propose_splits
from nearfar.place.type_use import type_uses
from nearfar.predict.derive import near_memory
from nearfar.predict.host import DEFAULT_HOST

SECONDS = 75

NEARFAR = (sys.executable, "-m", "nearfar")
SOURCES = Path(__file__).parents[2] / "examples/splits"
PROGRAMS = {
    "items.c": ("cc", 96),
    "orders.cpp": ("c++", 112),
    "readings.c": ("cc", 128),
    "people.cpp": ("c++", 144),
    "words.c": ("cc", 128),
    "bodies.cpp": ("c++", 128),
}
"""The driver, and the bytes of an element before the split."""
CACHES = 4
"""Size of the data, in last-level caches."""
MOST_DATA_BYTES = 256 << 20
NEAR, FARS = "ddr4-2666-local", ("optane-100-6dimm", "cxl-e3s-x8")
MOST_OFF = 0.25
MOST_OUTSIDE = 1.0


def rows() -> list[Row]:
    """Return the error of predicted lines, and how many savings are within their intervals."""
    return compared(PROGRAMS, "six programs", "make benchmarks ONLY=splits")


def compared(programs: Mapping[str, tuple[str, int]], counted: str, command: str) -> list[Row]:
    """Return the rows of programs of examples/splits, given like PROGRAMS."""
    if not list(native_folder().glob("nearfar_pass-*.so")):
        print("splits: left out, the compiler pass is not built here", file=sys.stderr)
        return []
    errors, inside = [], []
    cache_bytes = min(llc()[0], MOST_DATA_BYTES // CACHES)
    with tempfile.TemporaryDirectory(prefix="nearfar-splits-") as folder:
        for source, (driver, element_bytes) in programs.items():
            count = CACHES * cache_bytes // element_bytes
            before, after = (
                _profile(_built(Path(folder), source, driver, name), count, cache_bytes)
                for name in ("whole", "split")
            )
            for far in FARS:
                text, fits, off = _compare(before, after, far)
                print(f"splits: {source} on {far} {text}; lines off by {max(off):.0%}", flush=True)
                inside.append(fits)
                errors += off
    return [
        make_row(
            f"splits: largest error of the predicted lines of a hot or cold part, {counted}",
            100.0 * max(errors),
            "%",
            bar=100.0 * MOST_OFF,
            peer="the profile of the program that was split so",
            command=command,
        ),
        make_row(
            f"splits: savings outside of their intervals, of {counted} on two memories",
            float(len(inside) - sum(inside)),
            "savings",
            bar=MOST_OUTSIDE,
            peer="the profile of the program that was split so",
            command=command,
        ),
    ]


def _built(folder: Path, source: str, driver: str, name: str) -> Path:
    """Return the program, built as it is or split."""
    program = folder / f"{source}-{name}"
    split = ["-DSPLIT"] if name == "split" else []
    subprocess.run([*NEARFAR, driver, "-O2", *split, SOURCES / source, "-o", program], check=True)
    return program


def _profile(program: Path, count: int, cache_bytes: int) -> WorkloadProfile:
    """Profile a program with `count` elements and a last-level cache of `cache_bytes`."""
    out = program.with_name(f"{program.name}.json")
    words = [*NEARFAR, "profile", "-q", "--repetitions", "3", "--llc", f"{cache_bytes}B", "-o", out]
    subprocess.run([*words, "--", program, str(count)], check=True, capture_output=True)
    return load(out, WorkloadProfile)


def _compare(
    before: WorkloadProfile, after: WorkloadProfile, far_name: str
) -> tuple[str, bool, list[float]]:
    """Return a text, whether the saving is in its interval, and the errors of lines."""
    near, far = load_device(NEAR), load_device(far_name)
    proposals = propose_splits(before, near, far)
    if not proposals:
        raise NearfarError("no split was proposed")
    proposal = proposals[0]
    near_ns = sum(phase.near_cpu_time_ns.value for phase in before.phases)
    after_ns = sum(phase.near_cpu_time_ns.value for phase in after.phases)
    memories = JudgedMemories(near_memory(near), far, proposal.budget_bytes, DEFAULT_HOST)
    plan = memories.placed(after)
    saved = proposal.slowdown_before.value - plan.time_ns / near_ns
    use = type_uses(before)[0]
    hot = tuple(field for field in use.fields if field.field in proposal.hot_fields)
    predicted = _lines(split_profile(before, HotCold(use, hot), "value")[0])
    parts = sorted((predicted[use.object], predicted[len(before.objects)]))
    measured = sorted(_lines(after).values())[-2:]
    errors = [abs(p / m - 1.0) for p, m in zip(parts, measured, strict=True)]
    text = (
        f"saves {proposal.saved.value:.2f}x ({proposal.saved.low:.2f} to "
        f"{proposal.saved.high:.2f}) predicted, {saved:.2f}x by the split program's profile; near "
        f"time {proposal.near_factor.value:.2f}x ({proposal.near_factor.low:.2f} to "
        f"{proposal.near_factor.high:.2f}) predicted, {after_ns / near_ns:.2f}x measured"
    )
    return text, proposal.saved.low <= saved <= proposal.saved.high, errors


def _lines(profile: WorkloadProfile) -> dict[int, float]:
    lines: dict[int, float] = {}
    for phase in profile.phases:
        for row in phase.objects:
            lines[row.object] = lines.get(row.object, 0.0) + row.traffic.misses()
    return lines
