"""A reader's shell, with `nearfar` on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from nearfar.base.errors import ExitCode

from .commands import REPOSITORY


def lay_checkout(folder: Path) -> None:
    """Put into `folder` what a checkout is to a reader: examples, headers; and a text to sort."""
    for name in ("examples", "include"):
        (folder / name).symlink_to(REPOSITORY / name)
    (folder / "words.txt").write_text("".join(f"{n * 7919 % 100003}\n" for n in range(100_000)))


def shell(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a page in `folder`; as a refused measurement tells, take it with its noise."""
    done = _run(folder, text)
    if done.returncode == ExitCode.MACHINE_LACKS and "--resume --accept-noise" in done.stderr:
        done = _run(folder, f"{text.partition('  #')[0]} --resume --accept-noise")
    return done


def _run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
