"""The verbs, one file each: module `foo` holds the function `foo`, whose docstring is its help.

A module may hold a cyclopts `App` called `app`, for a verb with verbs of its own (`device list`);
without a function `foo`, the module's docstring is its help. Companion packages add verbs by entry
points (nearfar/companions.py). Nothing else lists the verbs.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

from cyclopts import App

from nearfar.commands._companion_verbs import companion_verbs, help_source, hint, load_verb

FILES = {"c++": "cxx", "try": "try_program"}
"""Modules of verbs that cannot be Python names."""


def verb_modules() -> dict[str, str]:
    """Return the module of each verb, by the verb's name."""
    named = {module: verb for verb, module in FILES.items()}
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {named.get(name, name): name for name in names if not name.startswith("_")}


def verbs() -> list[str]:
    """Return all verbs, those of companions included."""
    return sorted({*verb_modules(), *companion_verbs()})


def add_commands(app: App) -> None:
    """Add every verb of this folder and of companions to `app`."""
    for verb in verbs():
        add_command(app, verb)


def add_command(app: App, verb: str) -> None:
    """Import one verb and add it to `app`."""
    name = verb_modules().get(verb)
    if name is None:
        app.command(load_verb(verb), name=verb)
        return
    code = importlib.import_module(f"{__name__}.{name}")
    app.command(code.app if hasattr(code, "app") else getattr(code, name), name=verb)


def add_summaries(app: App) -> None:
    """Add every verb to `app` with the first line of its help only; import none of them."""
    modules = verb_modules()
    for verb in verbs():
        if verb in modules:
            source = (Path(__path__[0]) / f"{modules[verb]}.py").read_text()
            app.command(App(name=verb, help=summary(source, modules[verb])))
        elif (of_companion := help_source(verb)) is not None:
            app.command(App(name=verb, help=summary(*of_companion)))
        else:
            app.command(App(name=verb, help=hint(verb)))


def summary(source: str, name: str) -> str:
    """Return the first paragraph of a docstring: of the function `name`, else of the module."""
    paragraph = r'"""(.*?)(?:"""|\n\n)'
    function = re.search(rf"^def {name}\(.*?{paragraph}", source, re.MULTILINE | re.DOTALL)
    docstring = function or re.search(paragraph, source, re.DOTALL)
    return " ".join(docstring[1].split()) if docstring else ""
