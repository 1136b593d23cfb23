"""The verbs, one file each: module `foo` holds the function `foo`, whose docstring is its help.

A module may hold a cyclopts `App` called `app` in place of the function, for a verb with verbs
of its own (`device list`). Nothing else lists the verbs.
"""

from __future__ import annotations

import importlib
import pkgutil

from cyclopts import App


def add_commands(app: App) -> None:
    """Add every verb found in this folder to `app`."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        if module.name.startswith("_"):
            continue
        code = importlib.import_module(f"{__name__}.{module.name}")
        # A verb that cannot be a Python name, such as c++, is said by VERB.
        verb = getattr(code, "VERB", module.name)
        if hasattr(code, "app"):
            app.command(code.app, name=verb)
        else:
            app.command(getattr(code, module.name), name=verb)
