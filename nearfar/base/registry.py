"""One thing, one file: a folder's modules are its registry.

To add a verb, a model, an optimiser: write one file with a class or function marked by the
folder's `Registry`. To remove it: delete the file. Nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Generic, TypeVar

from nearfar.base.errors import NearfarError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things found in a package's modules, each registered by a decorator in its file."""

    def __init__(self, package: str, what: str) -> None:
        self._package = package
        self._what = what
        self._things: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Register the decorated thing as `name`; two things of one name are a mistake."""

        def decorate(thing: T) -> T:
            if name in self._things:
                raise AssertionError(f"two {self._what}s are called {name!r}")
            self._things[name] = thing
            return thing

        return decorate

    def names(self) -> list[str]:
        """Return all names, sorted."""
        self._load()
        return sorted(self._things)

    def get(self, name: str) -> T:
        """Return the thing called `name`, or refuse with the nearest name."""
        self._load()
        if name not in self._things:
            hint = nearest(name, self.names()) or f"; there are: {', '.join(self.names())}"
            raise NearfarError(f"there is no {self._what} {name!r}{hint}")
        return self._things[name]

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{self._package}.{module.name}")
        self._loaded = True
