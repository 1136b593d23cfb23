"""Outputs of other tools that devices are imported from: one format a file, found by the registry.

To add one: a file with an `Importer` registered as ``IMPORTERS.register("name")``. To remove it:
delete the file. Each says by what it knows its files, reads one, and refuses a broken one with
file and line.
"""

from nearfar.devices.importers._detect import detect, read_any
from nearfar.devices.importers._found import Found, Importer, Options
from nearfar.devices.importers._registry import IMPORTERS

__all__ = ["IMPORTERS", "Found", "Importer", "Options", "detect", "read_any"]
