"""Runs of `nearfar profile` on programs that were not rebuilt, and their counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import patience

CACHE = ["--llc", "256KiB", "--ways", "16"]

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None,
    reason="qemu-x86_64 is not installed (apt-get install qemu-user)",
)
Profile = dict[str, Any]


def run(
    folder: Path, *words: str, options: tuple[str, ...] = (), **variables: str
) -> tuple[subprocess.CompletedProcess[str], Profile | None]:
    """Profile a program; return its exit and its output."""
    output = folder / "run.json"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nearfar", "profile", "-o", str(output), "--repetitions", "1"]
    done = subprocess.run(
        [*command, *CACHE, *options, "--", *words],
        capture_output=True,
        text=True,
        timeout=patience(100),
        env={**os.environ, "COLUMNS": "1000", **variables},
        check=False,
    )
    return done, json.loads(output.read_text()) if output.exists() else None


def profile(folder: Path, *words: str, options: tuple[str, ...] = ()) -> Profile:
    """Profile a program that must succeed."""
    done, output = run(folder, *words, options=options)
    assert done.returncode == 0, done.stderr
    assert output is not None
    return output


def misses(found: Profile, phase: str = "-") -> dict[str, float]:
    """Return the misses of each object in a phase, by name."""
    rows = next(p for p in found["phases"] if p["name"] == phase)["objects"]
    return {
        found["objects"][row["object"]]["name"]: sum(row["traffic"]["read_misses"].values())
        + sum(row["traffic"]["write_misses"].values())
        for row in rows
    }
