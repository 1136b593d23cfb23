"""A fleet of 100,000 synthetic profiles: time and memory, from profiles and from saved rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks import Row, make_row, wall_seconds
from benchmarks.fleet_profiles import write_profiles

SECONDS = 30

PROFILES = 100_000
POLL_S = 0.5
"""Between two looks at memory: one walks the page tables of all processes, 10 ms of CPU time."""


def rows() -> Iterable[Row]:
    """Write the profiles, then sum them twice."""
    yield from fleet_rows(PROFILES, bar_s=20.0, bar_gib=1.0, command="ONLY=fleet")


def fleet_rows(count: int, *, bar_s: float, bar_gib: float, command: str) -> Iterable[Row]:
    """Return the rows of a fleet of `count` profiles."""
    command += " python -m benchmarks"
    with tempfile.TemporaryDirectory(prefix="nearfar-fleet-row-") as name:
        folder = Path(name)
        data_bytes = write_profiles(folder / "profiles", count)
        profiles = list((folder / "profiles").glob("*/*"))
        assert len(profiles) == count
        size_bytes = sum(path.stat().st_size for path in profiles)
        reading_s = wall_seconds(lambda: any(not path.read_bytes() for path in profiles))
        for what in ("read from the profiles", "rows kept"):
            seconds, most_bytes, result = summed(folder)
            assert result["profiles"] == count
            assert result["footprint_bytes"] == data_bytes
            assert len(result["types"]) == 3
            assert all(0 <= each["saved"] < 1 for each in result["savings"])
            yield make_row(
                f"`nearfar fleet` of {count:,} profiles, {what}",
                seconds,
                "s",
                bar=bar_s,
                peer="reading the profiles' bytes, one process",
                peer_value=reading_s,
                command=command,
            )
            yield make_row(
                f"its memory, all processes together at most, {count:,} profiles, {what}",
                most_bytes / 2**30,
                "GiB",
                bar=bar_gib,
                peer="the profiles' size",
                peer_value=size_bytes / 2**30,
                command=command,
            )


def summed(folder: Path) -> tuple[float, int, dict[str, list[dict[str, float]]]]:
    """Run the verb; return its seconds, peak memory in bytes, and its result."""
    command = [sys.executable, "-m", "nearfar", "fleet", str(folder / "profiles")]
    command += ["--near", "thesis-dram", "--far", "cxl-e3s-x8", "--cache", str(folder / "rows")]
    command += ["--quiet", "-o", str(folder / "fleet.json")]
    begun = time.monotonic()
    process = subprocess.Popen(command)
    most = 0
    while process.poll() is None:
        most = max(most, tree_bytes(process.pid))
        time.sleep(POLL_S)
    seconds = time.monotonic() - begun
    assert process.returncode == 0
    return seconds, most, json.loads((folder / "fleet.json").read_text())


def tree_bytes(pid: int) -> int:
    """Return the memory of a process and its children; shared pages count in part."""
    total = 0
    for each in [pid, *children(pid)]:
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(
            int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:")
        )
    return total


def children(pid: int) -> list[int]:
    """Return all processes below `pid`."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    results = [int(word) for word in text.split()]
    return results + [below for each in results for below in children(each)]
