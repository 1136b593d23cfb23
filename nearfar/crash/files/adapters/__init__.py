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
_OF_DUMPS = "keys"
"""Adapter that judges what another command prints."""


def command_of(name: str, dump: str = "") -> str:
    """Return the check of an adapter; `dump` prints the content, for the one that needs it."""
    names = sorted(path.stem for path in _HERE.glob("*.py") if not path.stem.startswith("_"))
    if name not in names:
        raise CommandError(
            f"there is no adapter {name!r}{nearest(name, names)}; --adapter takes "
            f"{' or '.join(names)}"
        )
    if (name == _OF_DUMPS) != bool(dump):
        raise CommandError(
            "--adapter keys and --dump 'DUMP {files}' belong together: the command prints "
            "`key value` for each key"
        )
    if dump and "{files}" not in dump:
        raise CommandError("--dump does not say where the folder's path goes: 'DUMP {files}'")
    more = [shlex.quote(dump.replace("{files}", "{folder}"))] if dump else []
    return " ".join([_program(name), "{files} {printed}", *more])


def _program(name: str) -> str:
    return shlex.join([*_PYTHON, str(_HERE / f"{name}.py")])


def loaded_command(check: str, image: Path, printed: Path, output: Path) -> list[str]:
    """Return the command that keeps the check loaded, if it is an adapter's, or nothing.

    It reads a line for each image, and writes what the adapter prints to `output`.
    """
    for path in _HERE.glob("[a-z]*.py"):
        begin = f"{_program(path.stem)} {{files}} {{printed}}"
        if check.startswith(begin):
            words = [str(_HERE / "_server.py"), str(path), str(image), str(printed), str(output)]
            return [*_PYTHON, *words, *shlex.split(check[len(begin) :])]
    return []
