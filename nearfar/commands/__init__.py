"""The verbs, one file each: module `foo` holds the function `foo`, whose docstring is its help.

A module may define a cyclopts `App` called `app`, for a verb with subcommands (`device list`);
without a function `foo`, the module's docstring is the help. Companion packages add verbs by entry
points (nearfar/companions.py). No other list of verbs exists; `GROUPS` only orders the verbs that
users need first, in help, completion, man pages and on the site.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from nearfar.commands._companion_verbs import companion_verbs, load_verb

if TYPE_CHECKING:
    from cyclopts import App, Group

FILES = {"c++": "cxx", "try": "try_program"}
"""Modules of verbs that cannot be Python names."""


GROUPS = {
    "Start": ("try", "measure", "profile", "predict", "place", "run", "report"),
    "Trust": ("machine", "validate", "compare", "reproduce"),
    "Persistent memory": ("crash", "bench"),
    "Many programs, sizes, hosts": ("sweep", "fleet", "scale", "merge"),
}
"""Verbs by what users want, in the order in which they need them."""
REST = "Parts and tools"
"""Group of the verbs that GROUPS does not name."""


def verb_modules() -> dict[str, str]:
    """Return the module of each verb, by the verb's name."""
    named = {module: verb for verb, module in FILES.items()}
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {named.get(name, name): name for name in names if not name.startswith("_")}


def verbs() -> list[str]:
    """Return all verbs, those of companions included, in the order of their groups."""
    named = [verb for group in GROUPS.values() for verb in group]
    present = {*verb_modules(), *companion_verbs()}
    return [*(verb for verb in named if verb in present), *sorted(present.difference(named))]


def heading_of(verb: str) -> str:
    """Return the name of the group under which help lists a verb."""
    return next((name for name, group in GROUPS.items() if verb in group), REST)


@cache
def _group(name: str) -> Group:
    from cyclopts import Group

    return Group(name, sort_key=[*GROUPS, REST].index(name))


def add_commands(app: App) -> None:
    """Add every verb of this folder and of companions to `app`."""
    for place, verb in enumerate(verbs()):
        add_command(app, verb, place)


def add_command(app: App, verb: str, place: int = 0) -> None:
    """Import a verb and add it to `app`, at position `place` of its group."""
    from cyclopts import App

    group = _group(heading_of(verb))
    name = verb_modules().get(verb)
    if name is None:
        code = load_verb(verb)
    else:
        module = importlib.import_module(f"{__name__}.{name}")
        code = module.app if hasattr(module, "app") else getattr(module, name)
    if isinstance(code, App):
        code.group, code.sort_key = (group,), place
        app.command(code, name=verb)
    else:
        app.command(code, name=verb, group=group, sort_key=place)
