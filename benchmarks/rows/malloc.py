"""The cost that attribution to allocation sites adds to a malloc/free pair."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import Row, alternate, make_row, paired_ratio
from nearfar.native_files import native_file, native_folder
from nearfar.program.control import RUN_FOLDER_VARIABLE, Control

SECONDS = 8
QUICK = True

HERE = Path(__file__).parent
REPETITIONS = 9
"""Pairs of neighbours in time; their median ratio moves by about 2 % between runs."""
SIZES = ((16, 143), (64, 64), (256, 256), (4096, 4096))
"""Smallest and largest requested bytes; most programs' blocks have the first. The cost grows with
the size, because more blocks contain a sampled line (one in twelve at 256 B, nine in ten at
4 KiB). At 4 KiB it is about the plain pair's time: docs/tracing.md has its parts."""
PAIRS = 2_000_000
"""These take about a tenth of a second."""


def rows() -> Iterator[Row]:
    """Yield a row per block size: the pair with attribution against the plain pair."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = _build(folder / "plain", [])
        library = native_file("libnearfar_profile.so")
        hooked = _build(
            folder / "hooked",
            ["-DHOOKED", str(library), f"-Wl,-rpath,{native_folder()}", "-Inative"],
        )
        for least, most in SIZES:
            arguments = [str(least), str(most), str(PAIRS)]
            ours, peer = alternate(
                [
                    partial(_hooked_ns, hooked, arguments),
                    partial(_ns, plain, arguments, dict(os.environ)),
                ],
                REPETITIONS,
            )
            peer_ns = statistics.median(peer)
            yield make_row(
                f"malloc/free pair of {least}-{most} B, added cost"
                if least < most
                else f"malloc/free pair of {least} B, added cost",
                peer_ns * (paired_ratio(ours, peer) - 1),
                "ns",
                bar=0.3,
                judge="ratio",
                peer="plain pair (glibc)",
                peer_value=peer_ns,
                command="make benchmarks ONLY=malloc",
            )


def _build(target: Path, options: list[str]) -> Path:
    source = str(HERE / "malloc.c")
    subprocess.run(["cc", "-O2", source, "-o", str(target), *options], check=True)
    return target


def _hooked_ns(program: Path, arguments: list[str]) -> float:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        control = Control.create(Path(name))
        control.page.memory_bytes = 64 << 20
        control.page.cache_bytes, control.page.cache_ways = 32 << 20, 16
        control.page.live_interval_us = 10_000
        spent_ns = _ns(program, arguments, {**os.environ, RUN_FOLDER_VARIABLE: name})
        if not list(Path(name).glob("process.*")):
            raise RuntimeError("the run time was not active: there is nothing to measure")
        control.close()
    return spent_ns


def _ns(program: Path, arguments: list[str], environment: dict[str, str]) -> float:
    command = [str(program), *arguments]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(answer.stdout)
