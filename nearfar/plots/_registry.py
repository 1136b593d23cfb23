"""The kinds of figures, by name."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.registry import Registry
from nearfar.plots._data import Drawing, Panel

FIGURES: Registry[Callable[[Drawing], list[Panel]]] = Registry("nearfar.plots", "figure")
