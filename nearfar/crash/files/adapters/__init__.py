"""Checks of files that come with nearfar: programs of their own, one file each.

They get the folder of an image and the file with what the program had printed, and use Python's
standard library only, so that each starts in milliseconds. Exit code 1 and a last line that says
why: they refuse the image.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from nearfar.base.errors import CommandError, nearest

_HERE = Path(__file__).parent
_PYTHON = (sys.executable, "-I", "-S")


def command_of(name: str) -> str:
    """Return the check of an adapter."""
    names = sorted(path.stem for path in _HERE.glob("*.py") if not path.stem.startswith("_"))
    if name not in names:
        raise CommandError(
            f"there is no adapter {name!r}{nearest(name, names)}; --adapter takes "
            f"{' or '.join(names)}"
        )
    return f"{shlex.join([*_PYTHON, str(_HERE / f'{name}.py')])} {{files}} {{printed}}"


def loaded_command(check: str, image: Path, printed: Path, output: Path) -> list[str]:
    """Return the command that keeps the check loaded, if it is an adapter's, or nothing.

    It reads a line for each image, and writes what the adapter prints to `output`.
    """
    for path in _HERE.glob("[a-z]*.py"):
        if check == command_of(path.stem):
            words = [str(_HERE / "_server.py"), str(path), str(image), str(printed), str(output)]
            return [*_PYTHON, *words]
    return []
