"""What `nearfar --version` prints."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nearfar import __version__
from nearfar.native_files import native_folder


def version_text() -> str:
    """Return version, commit (in a checkout) and which native parts were built in."""
    built = sorted(path.name for path in native_folder().glob("*")) or ["none"]
    return f"nearfar {__version__}{_commit()}\nnative parts: {', '.join(built)}"


def _commit() -> str:
    try:
        answer = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({answer.stdout.strip()})"
