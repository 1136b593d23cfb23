"""Detection of a file's format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar_imports.importers._figures import ImportedFigures, ImportOptions, text_of
from nearfar_imports.importers._registry import IMPORTERS

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


def read_all(
    paths: Sequence[Path], options: ImportOptions, form: str | None = None
) -> tuple[ImportedFigures, str]:
    """Read `paths` as files of one device; return its figures and the format's name."""
    if len(paths) == 1:
        return read_any(paths[0], options, form)
    forms = {form if form is not None else detect(path): path for path in paths}
    others = [name for name in forms if name != FALLBACK]
    if len(others) == 1 and IMPORTERS.get(others[0]).read_many is not None:
        # Empty and truncated files match no format; `read_many` reports them.
        forms = {others[0]: paths[0]}
    if len(forms) > 1:
        (first, of_first), (second, of_second), *_ = forms.items()
        raise NearfarError(
            f"{of_first} is of format {first} and {of_second} of {second}: import files of one "
            "format at once"
        )
    (name,) = forms
    read_many = IMPORTERS.get(name).read_many
    if read_many is not None:
        return read_many(list(paths), options), name
    imported, seen = ImportedFigures(), dict[float, Path]()
    for path in paths:
        figures, _ = read_any(path, options, name)
        for curve in figures.loaded_latency:
            other = seen.setdefault(curve.read_share, path)
            if other != path:
                raise NearfarError(
                    f"{other} and {path} both have a curve at {curve.read_share:.0%} reads: are "
                    "they of one machine? import each alone"
                )
        imported.latency += figures.latency
        imported.bandwidth += figures.bandwidth
        imported.loaded_latency += figures.loaded_latency
        imported.notes += figures.notes
    # Idle latency and best bandwidth are first taken from the curve of most reads.
    imported.loaded_latency.sort(key=lambda curve: -curve.read_share)
    imported.latency.sort(key=lambda figure: figure.value_ns)
    return imported, name


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
