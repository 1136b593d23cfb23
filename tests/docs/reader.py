"""A reader's shell, with `nearfar` on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from patience import patience


def shell(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a page in `folder`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(600),
    )
