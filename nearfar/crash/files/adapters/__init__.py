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


def command_of(name: str) -> str:
    """Return the check of an adapter."""
    names = sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"
    )
    if name not in names:
        raise CommandError(
            f"there is no adapter {name!r}{nearest(name, names)}; --adapter takes "
            f"{' or '.join(names)}"
        )
    program = Path(__file__).with_name(f"{name}.py")
    words = shlex.join([sys.executable, "-I", "-S", str(program)])
    return f"{words} {{files}} {{printed}}"
