"""Writes text of MLC 3.10's loaded-latency runs for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DELAYS = (*(0, 2, 8, 15, 50, 100, 200, 300, 400, 500), *(700, 1000, 1300, 1700, 2500), 5000, 20000)
"""Delays of MLC's list, in its own unit."""

HEADER = """\
Intel(R) Memory Latency Checker - v3.10
Command line parameters: --loaded_latency {options}

Using buffer size of 100.000MiB/thread for reads and an additional 100.000MiB/thread for writes

Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
"""


def mlc_text(options: str, rows: Sequence[tuple[int, float, float]]) -> str:
    """Return MLC's output for `options` and rows of (delay, ns, GB/s)."""
    lines = [f" {delay:05d}\t{ns:6.2f}\t{rate * 1e3:9.1f}" for delay, ns, rate in rows]
    return HEADER.format(options=options + " ") + "\n".join(lines) + "\n"


def made_up_rows(
    idle_ns: float, peak_gb_per_s: float, cores: int, core_gb_per_s: float = 12.0
) -> list[tuple[int, float, float]]:
    """Return rows of a memory with latency growing as 1

    (1 - load) under `cores` cores.
    """
    rows = []
    for delay in DELAYS:
        requested = cores * core_gb_per_s / (1 + delay / 40)
        rate = 1 / (requested**-6 + peak_gb_per_s**-6) ** (1 / 6)
        load = min(rate / (1.03 * peak_gb_per_s), 0.97)
        rows.append((delay, idle_ns * (1 + 0.08 * load / (1 - load)), rate))
    return rows


def write_run(
    folder: Path, name: str, options: str, rows: Sequence[tuple[int, float, float]]
) -> Path:
    """Write a run; return its path."""
    path = folder / name
    path.write_text(mlc_text(options, rows))
    return path


def write_family(
    folder: Path, *, idle_ns: float = 250.0, peak_gb_per_s: float = 48.0, node: int = 4
) -> list[Path]:
    """Write runs of a memory with four traffic types and three core counts; return their paths."""
    folder.mkdir(exist_ok=True)
    paths = []
    kinds = {"w0_r0": ("", 1.0), "w5_r0": ("-W5", 1.13), "w6_r0": ("-W6", 0.98), "w0_r1": ("-U", 1)}
    for named, (kind, factor) in kinds.items():
        for cores in (1, 4, 16):
            rows = made_up_rows(idle_ns, peak_gb_per_s * factor, cores)
            options = f"-j{node} -k1-{cores} {kind}".strip()
            paths.append(write_run(folder, f"log_d0_c{cores}_{named}", options, rows))
    return paths
