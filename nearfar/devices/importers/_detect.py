"""Detection of a file's format."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.importers._figures import ImportedFigures, ImportOptions, text_of
from nearfar.devices.importers._registry import IMPORTERS

FALLBACK = "csv"
"""Format of a file that no importer detects."""


def detect(path: Path) -> str:
    """Return the name of the format of `path`, plain CSV if no importer detects it."""
    if not path.exists():
        raise NearfarError(f"cannot read file {path}: No such file or directory")
    text = "" if path.is_dir() else text_of(path)
    names = [name for name in IMPORTERS.names() if IMPORTERS.get(name).detects(path, text)]
    if len(names) > 1:
        raise NearfarError(
            f"{path} fits several formats, {', '.join(names)}: choose one by --format"
        )
    if not names and path.is_dir():
        raise NearfarError(f"{path} is a folder without curves bwlat_*.txt: name a file")
    return names[0] if names else FALLBACK


def read_any(
    path: Path, options: ImportOptions, form: str | None = None
) -> tuple[ImportedFigures, str]:
    """Read `path` as `form` or in its detected format; return its figures and the format's name."""
    name = form if form is not None else detect(path)
    importer = IMPORTERS.get(name)
    if path.is_dir() and not importer.detects(path, ""):
        raise NearfarError(f"{path} is a folder; the format {name} needs a file")
    imported = importer.read(path, options)
    if imported.empty():
        raise NearfarError(f"{path} has no figure of {importer.title}: is it cut short?")
    return imported, name
