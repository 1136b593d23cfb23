"""From a wheel, in an empty virtual environment, to a first prediction and a first `try`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.tried_programs import input_path

SECONDS = 150

BUILT = Path("build/wheel")
PREDICT = ("predict", "thesis-hashmap", "--near", "thesis-dram", "--far", "optane-100-6dimm")
"""A program counted by hand, on the library's devices: no measurement is needed."""
TRIED = "gzip"
"""A Debian program that is tried as it is; it needs qemu-user, but no compiler."""
COMMAND = "ONLY=wheel python -m benchmarks"


def rows() -> Iterator[Row]:
    """Time `pip install` of the wheel, the first prediction, and two `try` of one program."""
    wheel = build_wheel()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        started = time.monotonic()
        subprocess.run([folder / "venv/bin/pip", "install", "-q", wheel], check=True)
        installed_s = time.monotonic() - started
        # Neither this checkout nor its tools are on the path.
        bare = {"PATH": "/nonexistent", "HOME": name, "LANG": os.environ.get("LANG", "C.UTF-8")}
        done, predicted_s = _timed(folder, PREDICT, bare)
        assert "slowdown" in done.stdout
        yield make_row(
            "wheel to a first prediction, two commands (packages from the registry or a cache)",
            installed_s + predicted_s,
            "s",
            bar=60.0,
            peer="pip install alone",
            peer_value=installed_s,
            command=COMMAND,
            note=f"{wheel.stat().st_size / 1e6:.1f} MB",
        )
        words = ("try", "--", TRIED, "-c", str(input_path("words.txt")))
        system = {**bare, "PATH": "/usr/bin:/bin"}
        first, second = (_timed(folder, words, system) for _ in range(2))
        assert "Slowdown" in first[0].stderr
        assert "Slowdown" in second[0].stderr
        for what, seconds, bar in (
            ("wheel to the first answer of try, install included", installed_s + first[1], 150.0),
            ("the first try, near memory measured", first[1], 90.0),
            ("the second try, near memory kept", second[1], 45.0),
        ):
            yield make_row(what, seconds, "s", bar=bar, peer="", command=COMMAND)


def _timed(
    folder: Path, words: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the installed nearfar; return what it printed, and its seconds."""
    started = time.monotonic()
    done = subprocess.run(
        [str(folder / "venv/bin/nearfar"), *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
    )
    return done, time.monotonic() - started


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
