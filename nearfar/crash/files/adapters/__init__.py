"""Checks of files that come with nearfar: programs of their own, one file each.

An adapter gets the folder of an image and the file with the text that the program had printed. It
uses Python's standard library only, so that it starts in milliseconds. It refuses an image by exit
code 1, and prints the reason in its last line.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from nearfar.base.errors import CommandError, nearest

_ADAPTER_FOLDER = Path(__file__).parent
_PYTHON = (sys.executable, "-I", "-S")
_DUMP_ADAPTER = "keys"
"""Adapter that judges what another command prints."""


def command_of(name: str, dump: str = "") -> str:
    """Return the check of an adapter; `dump` is the command of the adapter `keys`."""
    names = sorted(
        path.stem for path in _ADAPTER_FOLDER.glob("*.py") if not path.stem.startswith("_")
    )
    if name not in names:
        raise CommandError(
            f"there is no adapter {name!r}{nearest(name, names)}; --adapter takes "
            f"{' or '.join(names)}"
        )
    if (name == _DUMP_ADAPTER) != bool(dump):
        raise CommandError(
            "--adapter keys and --dump 'DUMP {files}' belong together: the command prints "
            "`key value` for each key"
        )
    if dump and "{files}" not in dump:
        raise CommandError("--dump does not say where the folder's path goes: 'DUMP {files}'")
    more = [shlex.quote(dump.replace("{files}", "{folder}"))] if dump else []
    return " ".join([_program(name), "{files} {printed}", *more])


def _program(name: str) -> str:
    return shlex.join([*_PYTHON, str(_ADAPTER_FOLDER / f"{name}.py")])


def loaded_command(check: str, image: Path, printed: Path, output: Path) -> list[str]:
    """Return the command that keeps an adapter loaded; an empty list if `check` is no adapter.

    The command reads a line for each image, and writes the adapter's text to `output`.
    """
    for path in _ADAPTER_FOLDER.glob("[a-z]*.py"):
        begin = f"{_program(path.stem)} {{files}} {{printed}}"
        if check.startswith(begin):
            words = [
                str(_ADAPTER_FOLDER / "_server.py"),
                str(path),
                str(image),
                str(printed),
                str(output),
            ]
            return [*_PYTHON, *words, *shlex.split(check[len(begin) :])]
    return []
