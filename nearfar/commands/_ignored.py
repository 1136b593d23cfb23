"""Refuses options that what was asked for cannot use: nothing typed is ignored in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.base.errors import CommandError


def refuse_unused(mode: str, given: Mapping[str, bool], used: Iterable[str], what: str) -> None:
    """Refuse what is `given` with `mode` and is not `used`; `what` says what the mode does."""
    unused = [option for option, was in given.items() if was and option not in set(used)]
    if unused:
        names = unused[0] if len(unused) == 1 else f"{', '.join(unused[:-1])} and {unused[-1]}"
        raise CommandError(f"{mode} {what}: leave out {names}")
