"""Sweeps: the gain of a second worker, the overhead per point, planning."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from benchmarks import Row, alternate, make_row, wall_seconds
from nearfar.options.simulate import SimulateOptions
from nearfar.sim.simulate import simulate_pattern

SECONDS = 75

POINTS = 80
LINES = 4_000_000
"""Lines of the point that is timed first, to choose the lines of all."""
POINT_S = 0.07
"""Time of a point, about: one worker then takes five to six seconds."""
SHORT_POINTS = 1000
SHORT_LINES = 1000
PLANNED = 1_000_000
REPETITIONS = 3
COMMAND = "ONLY=sweep python -m benchmarks"


def rows() -> Iterable[Row]:
    """Measure all three."""
    with tempfile.TemporaryDirectory(prefix="nearfar-sweep-row-") as name:
        folder = Path(name)
        simulate(0, LINES)  # the first call reads the devices
        lines = round(LINES * POINT_S / wall_seconds(lambda: simulate(0, LINES)))
        long = write(folder / "long.toml", POINTS, lines)
        samples = alternate(
            [
                lambda: computed(long, 1)["seconds"],
                lambda: computed(long, 2)["seconds"],
                lambda: plain(1, lines),
                lambda: plain(2, lines),
            ],
            REPETITIONS,
        )
        # Other work only makes runs longer: the minimum of each is compared.
        least = [min(times) for times in samples]
        gain = least[0] / least[1]
        yield make_row(
            f"two local workers over one: {POINTS} simulated points",
            gain,
            "x",
            bar=1.9,
            at_most=False,
            peer="two plain processes over one, same work without Dask",
            peer_value=least[2] / least[3],
            command=COMMAND,
            note=f"{least[0]:.1f} s by one",
        )
        process_ms = [wall_seconds(empty_process) * 1e3 for _ in range(9)]
        short = write(folder / "short.toml", SHORT_POINTS, SHORT_LINES)
        yield make_row(
            f"a point beside its own work: {SHORT_POINTS} short points, two workers",
            float(computed(short, 2)["overhead_ms_per_point"]),
            "ms",
            bar=20.0,
            peer="a process a point (python -c pass)",
            peer_value=statistics.median(process_ms),
            command=COMMAND,
        )
        many = write(folder / "many.toml", PLANNED, SHORT_LINES)
        yield make_row(
            f"`nearfar sweep --dry-run` of {PLANNED:,} points, start included",
            wall_seconds(lambda: verb(many, "--dry-run", "--quiet")),
            "s",
            bar=15.0,
            peer="a digest of each point's JSON",
            peer_value=wall_seconds(digests),
            command=COMMAND,
        )


def empty_process() -> None:
    """Start Python and end it."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def digests() -> None:
    """Make what a plan needs at least: an id of each point."""
    for seed in range(PLANNED):
        content = {"far": "cxl-e3s-x8", "region": "16MiB", "pattern": "random", "seed": seed}
        hashlib.sha256(json.dumps(content).encode()).hexdigest()


def write(path: Path, points: int, lines: int) -> Path:
    """Write a sweep of `points` simulated points."""
    seeds = ", ".join(str(seed) for seed in range(points // 4))
    path.write_text(
        '[[simulate]]\nfar = ["optane-100-6dimm", "cxl-e3s-x8"]\nregion = ["16MiB", "64MiB"]\n'
        f'pattern = "random"\nlines = {lines}\nseed = [{seeds}]\n'
    )
    return path


def verb(path: Path, *options: str) -> str:
    """Run the verb and return its output."""
    command = [sys.executable, "-m", "nearfar", "sweep", str(path), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def computed(path: Path, workers: int) -> dict[str, float]:
    """Compute a sweep from scratch and return its record, after checking that it is complete."""
    record = json.loads(verb(path, "--workers", str(workers), "--no-resume", "--json"))
    assert record["finished_now"] == sum(record["points"].values())
    assert not record["failed"]
    return dict(record)


def plain(processes: int, lines: int) -> float:
    """Return the seconds of the same work in `processes` processes, without their start."""
    one = partial(simulate, lines=lines)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(one, range(processes * 2), chunksize=1)
        return wall_seconds(lambda: pool.map(one, range(POINTS), chunksize=5))


def simulate(number: int, lines: int) -> float:
    """Simulate one of the points."""
    options = SimulateOptions(
        device=("optane-100-6dimm", "cxl-e3s-x8")[number % 2],
        pattern="random",
        region=("16MiB", "64MiB")[number // 2 % 2],
        seed=number // 4,
        lines=lines,
    )
    return simulate_pattern(options).ns_per_access
