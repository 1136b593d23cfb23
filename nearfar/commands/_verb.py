"""Converts the options classes of a verb to the signature that cyclopts reads."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from typing import Annotated, Any, Literal, TypeVar

from cyclopts import Parameter

from nearfar.base.errors import CommandError
from nearfar.options.option import Field, option_fields

FOR_COMPLETION: list[Callable[[Field], Sequence[str]]] = []
"""Functions of the words that a shell completes an option with; filled before verbs load."""

ResultT = TypeVar("ResultT")


def verb(*kinds: Any) -> Callable[[Callable[..., ResultT]], Callable[..., ResultT]]:
    """Return a decorator: the function of options gets a parameter for each of their fields."""
    places = [(at, entry) for at, kind in enumerate(kinds) for entry in option_fields(kind)]
    order = {"first": 0, "rest": 1, "": 2}
    places = [place for place in places if place[1].option.position != "none"]
    places.sort(key=lambda place: order[place[1].option.position])

    def decorate(run: Callable[..., ResultT]) -> Callable[..., ResultT]:
        @functools.wraps(run)
        def call(*first: Any, **given: Any) -> ResultT:
            bound = signature.bind(*first, **given).arguments
            values: list[dict[str, Any]] = [{} for _ in kinds]
            for at, entry in places:
                if entry.option.consume and bound.get(entry.name) == []:
                    raise CommandError(f"{entry.flag} names no file: name at least one after it")
                # None and an empty list mean that the option was not given.
                if bound.get(entry.name) not in (None, (), []):
                    values[at][entry.name] = bound[entry.name]
            return run(*(kind(**part) for kind, part in zip(kinds, values, strict=True)))

        signature = inspect.Signature([_parameter(entry) for _, entry in places])
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {
            name: parameter.annotation for name, parameter in signature.parameters.items()
        }
        del call.__wrapped__
        return call

    return decorate


def _parameter(entry: Field) -> inspect.Parameter:
    option = entry.option
    names = (
        [] if option.position == "rest" else [entry.flag, *([option.short] * bool(option.short))]
    )
    rest = option.position == "rest"
    about = Parameter(
        name=names or None,
        help=entry.help or None,
        negative=None if entry.default is True else "",
        # "default: False" of a flag says nothing.
        show_default=False if entry.default is False or entry.default == "" else None,
        allow_leading_hyphen=option.any_text,
        consume_multiple=option.consume or None,
    )
    kind: Any = entry.type
    for choices in FOR_COMPLETION:
        if known := tuple(choices(entry)):
            kind = Literal[known]
    default = entry.default
    if entry.many and not rest:
        # Without None in its type: cyclopts converts each word of a union several times.
        kind = list[kind]
        default = default if default is MISSING else None
    elif entry.optional:
        kind = kind | None
    return inspect.Parameter(
        entry.name,
        {
            "first": inspect.Parameter.POSITIONAL_OR_KEYWORD,
            "rest": inspect.Parameter.VAR_POSITIONAL,
            "": inspect.Parameter.KEYWORD_ONLY,
        }[option.position],
        default=inspect.Parameter.empty if rest or default is MISSING else default,
        annotation=Annotated[kind, about],
    )
