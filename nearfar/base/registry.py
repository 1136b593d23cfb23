"""Registries: each module of a folder adds an entry, such as a model, an optimiser or a check.

To add an entry, write one file with a class or function that the folder's `Registry` decorates. To
remove it, delete the file. Nothing else lists the entries.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Generic, TypeVar

from nearfar.base.errors import NearfarError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Named entries from a package's modules, each registered by a decorator in its file."""

    def __init__(self, package: str, what: str) -> None:
        self._package = package
        self._what = what
        self._entries: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Register the decorated class or function as `name`; each name is unique."""

        def decorate(entry: T) -> T:
            if name in self._entries:
                raise AssertionError(f"two {self._what}s are called {name!r}")
            self._entries[name] = entry
            return entry

        return decorate

    def names(self) -> list[str]:
        """Return all names, sorted."""
        self._load()
        return sorted(self._entries)

    def get(self, name: str) -> T:
        """Return the entry called `name`, or refuse with the nearest name."""
        self._load()
        if name not in self._entries:
            hint = nearest(name, self.names()) or f"; there are: {', '.join(self.names())}"
            raise NearfarError(f"there is no {self._what} {name!r}{hint}")
        return self._entries[name]

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{self._package}.{module.name}")
        self._loaded = True
