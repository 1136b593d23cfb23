"""Formats of other tools from which devices are imported: one format, one file.

To add one: a file with an `Importer` registered as ``IMPORTERS.register("name")``. It detects its
files, reads one, and refuses a broken one with file and line.
"""

from nearfar_imports.importers._detect import detect, read_all, read_any
from nearfar_imports.importers._figures import ImportedFigures, Importer, ImportOptions
from nearfar_imports.importers._registry import IMPORTERS

__all__ = [
    "IMPORTERS",
    "ImportOptions",
    "ImportedFigures",
    "Importer",
    "detect",
    "read_all",
    "read_any",
]
