"""Writes nearfar/_fleet.pyi, _measure.pyi, _sim.pyi and _window.pyi from the native modules.

Run ``.venv/bin/python scripts/stubs.py`` after a change of native/bind; a test compares the files
with what this script writes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MODULES = ("_fleet", "_measure", "_sim", "_window")


def write_stubs(folder: Path) -> None:
    """Write one stub per native module into `folder`."""
    modules = [word for name in MODULES for word in ("-m", f"nearfar.{name}")]
    patterns = ["-p", str(REPOSITORY / "scripts" / "stubs.txt")]
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", *modules, *patterns]
    subprocess.run([*command, "-O", str(folder)], check=True)
    files = [str(folder / f"{name}.pyi") for name in MODULES]
    config = str(REPOSITORY / "pyproject.toml")
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-q", "--config", config, *files], check=True
    )


if __name__ == "__main__":
    write_stubs(REPOSITORY / "nearfar")
