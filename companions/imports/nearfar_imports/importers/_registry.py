"""The formats, by name."""

from __future__ import annotations

from nearfar.base.registry import Registry
from nearfar_imports.importers._figures import Importer

IMPORTERS: Registry[Importer] = Registry("nearfar_imports.importers", "format")
