"""Verbs of companion packages, installed or not."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from nearfar.base.errors import CommandError, ExitCode
from nearfar.companions import KNOWN, VERBS, installed, not_installed


def companion_verbs() -> list[str]:
    """Return the verbs of installed companions and of known companions not yet installed."""
    return sorted(name for name in {*installed(VERBS), *KNOWN} if " " not in name)


def load_verb(verb: str) -> Any:
    """Return a companion verb's function or App, or a function that raises what is missing."""
    entry = installed(VERBS).get(verb)
    if entry is None:
        return _refuse(verb, not_installed(verb))
    try:
        return entry.load()
    except ImportError as error:
        text = f"`nearfar {verb}` cannot be loaded ({error}): install its companion again"
        return _refuse(verb, CommandError(text, ExitCode.MACHINE_LACKS))


def help_source(verb: str) -> tuple[str, str] | None:
    """Return (source with a verb's help, name of its function); None: not installed."""
    entry = installed(VERBS).get(verb)
    try:
        spec = find_spec(entry.module) if entry is not None else None
    except ImportError:  # the package was removed, its metadata remained
        return None
    if entry is None or spec is None or spec.origin is None:
        return None
    return Path(spec.origin).read_text(), entry.attr


def hint(verb: str) -> str:
    """Return the help of a verb whose companion is not installed."""
    if verb not in KNOWN:
        return "(cannot be loaded: install its companion again)"
    return f"(install nearfar[{KNOWN[verb].extra}]) {KNOWN[verb].summary}"


def _refuse(verb: str, error: CommandError) -> Callable[..., None]:
    from cyclopts import Parameter

    def refuse(
        *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    ) -> None:
        del words
        raise error

    refuse.__doc__ = hint(verb)
    return refuse
