"""Which format a file is of, and reading it."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.importers._found import Found, Options, text_of
from nearfar.devices.importers._registry import IMPORTERS

PLAIN = "csv"
"""What a file is taken for that no other format knows."""


def detect(path: Path) -> str:
    """Return the name of the format that knows `path`; the plain CSV if none does."""
    if not path.exists():
        raise NearfarError(f"cannot read file {path}: No such file or directory")
    text = "" if path.is_dir() else text_of(path)
    names = [name for name in IMPORTERS.names() if IMPORTERS.get(name).detects(path, text)]
    if len(names) > 1:
        raise NearfarError(
            f"{path} could be of several formats, {', '.join(names)}: say which with --format"
        )
    if not names and path.is_dir():
        raise NearfarError(f"{path} is a folder without curves bwlat_*.txt: name a file")
    return names[0] if names else PLAIN


def read_any(path: Path, options: Options, form: str | None = None) -> tuple[Found, str]:
    """Read `path` as `form`, or as what it is; return what it holds and the format's name."""
    name = form if form is not None else detect(path)
    importer = IMPORTERS.get(name)
    if path.is_dir() and not importer.detects(path, ""):
        raise NearfarError(f"{path} is a folder, and {name} is read from a file")
    found = importer.read(path, options)
    if found.empty():
        raise NearfarError(f"{path} holds no figure that {importer.title} gives: is it whole?")
    return found, name
