"""Declaration of one option, and the base class of every verb's options."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from nearfar.base.errors import CommandError


@dataclass(frozen=True)
class Option:
    """How an option is written and which values it accepts; goes into `Annotated`."""

    position: Literal["", "first", "rest", "none"] = ""
    """Place among the words of the command line; empty: a named option; none: for the API only."""
    short: str = ""
    """Short name, such as ``-o``."""
    low: float | None = None
    """Least value, inclusive."""
    high: float | None = None
    """Greatest value, inclusive."""
    any_text: bool = False
    """Whether the value may begin with a hyphen, such as a negative number that is refused."""
    consume: bool = False
    """Whether one ``--name`` takes all values that follow it."""


@dataclass(frozen=True)
class Field:
    """One option of a verb, as read from its class."""

    name: str
    """Name in Python."""
    flag: str
    """Name on the command line, such as ``--near-time``."""
    help: str
    option: Option
    type: Any
    """Type of one value, without `Option`, `Sequence`, None and documents."""
    documents: tuple[type, ...]
    """Documents that the API takes in place of a value."""
    many: bool
    """Whether it holds several values."""
    optional: bool
    """Whether it may be None."""
    default: Any
    """Default value; `MISSING` if the option is required."""

    def type_text(self) -> str:
        """Return the type of a value in words, such as ``Path or Plan or None``."""
        text = self.type.__name__ if isinstance(self.type, type) else str(self.type)
        choices = get_args(self.type) if get_origin(self.type) is Literal else (text,)
        words = [str(choice) for choice in choices] + [kind.__name__ for kind in self.documents]
        text = " or ".join([*words, *(["None"] if self.optional else [])])
        return f"sequence of {text}" if self.many else text

    @property
    def shown(self) -> str:
        """How messages name the option where it was given: ``-o``, ``--no-spin``, ``--seed``."""
        negated = "--no-" + self.flag.removeprefix("--")
        return self.option.short or (negated if self.default is True else self.flag)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base class of options: converts, checks each value, then calls `check_options`."""

    def __post_init__(self) -> None:
        """Convert text to paths and single values to sequences; refuse what is out of bounds."""
        for entry in _fields_of(self):
            value = getattr(self, entry.name)
            if value is entry.default:
                continue
            converted = _converted(entry, value)
            if converted is not value:
                object.__setattr__(self, entry.name, converted)
            for item in converted if entry.many else [converted]:
                _check_value(entry, item)
        self.check_options()

    def check_options(self) -> None:
        """Raise CommandError for combinations that exclude each other; subclasses override this."""

    def given(self) -> dict[str, bool]:
        """Return for each option, as messages name it, whether its value is not the default."""
        return {
            entry.shown: getattr(self, entry.name) != entry.default
            for entry in _fields_of(self)
            if not entry.option.position
        }


def check_names(options: Any, given: Sequence[str]) -> None:
    """Refuse names that are no options, and required ones that are missing, as the verb does."""
    known = {entry.name: entry for entry in option_fields(options)}
    for name in given:
        if name not in known:
            flag = flag_of(name)
            near = difflib.get_close_matches(flag, [entry.flag for entry in known.values()], n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise CommandError(f"Unknown option: {flag}.{hint}")
    for entry in known.values():
        if entry.default is MISSING and entry.name not in given:
            raise CommandError(f"Parameter {entry.flag} requires an argument.")


def flag_of(name: str) -> str:
    """Return the name on the command line of a field."""
    return "--" + name.strip("_").replace("_", "-")


def _fields_of(options: Options) -> tuple[Field, ...]:
    kind: Any = type(options)  # mypy takes the class of a frozen dataclass to be unhashable
    return option_fields(kind)


@cache
def option_fields(options: Any) -> tuple[Field, ...]:
    """Return every option of a class: those of its bases first."""
    # Importing documents takes 80 ms: only needed to resolve their names in annotations.
    documents = vars(importlib.import_module("nearfar.documents"))
    hints = get_type_hints(options, localns=documents, include_extras=True)
    helps = _helps(options)
    return tuple(
        _field(part.name, hints[part.name], part, helps.get(part.name, ""))
        for part in fields(options)
    )


def _field(name: str, hint: Any, part: Any, text: str) -> Field:
    option = Option()
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        option = next((extra for extra in extras if isinstance(extra, Option)), option)
    many = get_origin(hint) is get_origin(Sequence[Any])
    if many:
        (hint,) = get_args(hint)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    optional = NoneType in members
    kept = tuple(m for m in members if m is not NoneType and not _is_document(m))
    documents = tuple(m for m in members if _is_document(m))
    return Field(
        name=name,
        flag=flag_of(name),
        help=text,
        option=option,
        type=Union[kept],  # noqa: UP007 - of a tuple
        documents=documents,
        many=many,
        optional=optional,
        default=part.default,
    )


def _is_document(kind: Any) -> bool:
    return hasattr(kind, "__struct_fields__")


def _converted(entry: Field, value: Any) -> Any:
    if entry.many:
        single = (
            isinstance(value, str | Path) or _is_document(value) or not hasattr(value, "__iter__")
        )
        values = [value] if single and value is not None else value or ()
        return tuple(_as_path(entry, item) for item in values)
    return _as_path(entry, value)


def _as_path(entry: Field, value: Any) -> Any:
    if entry.type is Path and isinstance(value, str):
        return Path(value)
    if entry.type is str and isinstance(value, Path):
        return str(value)
    return value


def _check_value(entry: Field, value: Any) -> None:
    if value is None and entry.optional:
        return
    if get_origin(entry.type) is Literal and value not in get_args(entry.type):
        choices = ", ".join(f'"{choice}"' for choice in get_args(entry.type))
        raise CommandError(f'Invalid value "{value}" for {entry.flag}. Choose from: {choices}.')
    if entry.type in (int, float) and not isinstance(value, int | float):
        raise CommandError(f"{entry.flag} must be a number, not {value!r}")
    low, high = entry.option.low, entry.option.high
    if low is None and high is None:
        return
    # Written so that NaN is refused.
    if not ((low is None or value >= low) and (high is None or value <= high)):
        bounds = f"at least {low:g}" if high is None else f"at most {high:g}"
        if low is not None and high is not None:
            bounds = f"from {low:g} to {high:g}"
        raise CommandError(f"{entry.flag} must be {bounds}, not {value:g}")


def _helps(options: Any) -> dict[str, str]:
    """Return the docstring under each field, of bases too; a subclass's text wins."""
    texts: dict[str, str] = {}
    for kind in reversed(options.__mro__):
        if kind not in (object, Options):
            texts |= _module_helps(kind.__module__).get(kind.__name__, {})
    return texts


@cache
def _module_helps(module: str) -> dict[str, dict[str, str]]:
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:  # installed without sources
        return {}
    return {
        part.name: _class_helps(part)
        for part in ast.parse(source).body
        if isinstance(part, ast.ClassDef)
    }


def _class_helps(kind: ast.ClassDef) -> dict[str, str]:
    texts = {}
    for line, after in zip(kind.body, kind.body[1:], strict=False):
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            texts[line.target.id] = textwrap.dedent(inspect.cleandoc(after.value.value))
    return texts
