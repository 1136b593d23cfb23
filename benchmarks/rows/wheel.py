"""From a wheel, in an empty virtual environment, to a first prediction: two commands."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import Row, make_row

SECONDS = 60

BUILT = Path("build/wheel")
PREDICT = ["predict", "thesis-hashmap", "--near", "thesis-dram", "--far", "optane-100-6dimm"]
"""A program counted by hand, on the library's devices: no measurement is needed."""


def rows() -> list[Row]:
    """Time `pip install` of the wheel and the first prediction, without a compiler."""
    wheel = build_wheel()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        started = time.monotonic()
        subprocess.run([folder / "venv/bin/pip", "install", "-q", wheel], check=True)
        installed_s = time.monotonic() - started
        predict = [str(folder / "venv/bin/nearfar"), *PREDICT]
        # Neither this checkout nor its tools are on the path.
        bare = {"PATH": "/nonexistent", "HOME": name, "LANG": os.environ.get("LANG", "C.UTF-8")}
        done = subprocess.run(
            predict, cwd=folder, env=bare, capture_output=True, text=True, check=True
        )
        seconds = time.monotonic() - started
        assert "slowdown" in done.stdout
    return [
        make_row(
            f"wheel of {wheel.stat().st_size / 1e6:.1f} MB to a first prediction, two commands "
            "(packages from the registry or a cache)",
            seconds,
            "s",
            bar=60.0,
            peer="pip install alone",
            peer_value=installed_s,
            command="ONLY=wheel python -m benchmarks",
        )
    ]


def build_wheel() -> Path:
    """Return this commit's wheel; build it without timing if it is missing."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = BUILT / commit
    if not list(folder.glob("*.whl")):
        native = f"build-dir={(BUILT / 'native').resolve()}"
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
        subprocess.run([*pip, "-C", native, "-w", folder, "."], check=True)
    return next(folder.glob("*.whl"))
