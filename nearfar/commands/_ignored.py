"""Refuses options that the chosen mode cannot use, instead of ignoring them silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.base.errors import CommandError


def refuse_unused(mode: str, given: Mapping[str, bool], used: Iterable[str], what: str) -> None:
    """Refuse options that are `given` but not `used` by `mode`; `what` says what the mode does."""
    unused = [option for option, was in given.items() if was and option not in set(used)]
    if unused:
        names = unused[0] if len(unused) == 1 else f"{', '.join(unused[:-1])} and {unused[-1]}"
        raise CommandError(f"{mode} {what}: leave out {names}")
