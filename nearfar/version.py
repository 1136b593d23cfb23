"""The text of `nearfar --version`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nearfar import __version__
from nearfar.companions import TOOLS, VERBS, installed
from nearfar.native_files import native_folder


def version_text() -> str:
    """Return version, commit, native parts and installed companions."""
    of_commit = f" ({commit})" if (commit := built_from()) else ""
    companions = sorted({*installed(VERBS), *installed(TOOLS)})
    return (
        f"nearfar {__version__}{of_commit}\n"
        f"native parts: {', '.join(native_parts())}\n"
        f"companions: {', '.join(companions) or 'none'}"
    )


def native_parts() -> list[str]:
    """Return the names of the native parts that were built in, or that there are none."""
    return sorted(path.name for path in native_folder().glob("*")) or ["none"]


def built_from() -> str:
    """Return the commit that nearfar is of, or nothing where that is not known.

    In a checkout, what is checked out now; else what the build wrote next to the native parts. The
    repository that a virtual environment happens to be in is not asked.
    """
    checkout = Path(__file__).parent.parent
    if (checkout / ".git").exists():
        return _checked_out(checkout)
    try:
        return (native_folder().parent / "built_from.txt").read_text().strip()
    except OSError:
        return ""


def _checked_out(folder: Path) -> str:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
