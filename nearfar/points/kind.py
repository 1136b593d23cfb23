"""The interface of a kind of point: its parameters, its checks, its computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

import msgspec

from nearfar.base.registry import Registry
from nearfar.options.option import option_fields
from nearfar.points.inputs import PointInputs
from nearfar.points.row import PointValues

OptionsT = TypeVar("OptionsT")


class PointKind(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One point. Its fields are the keys of its block in a sweep file; a list there is an axis."""

    NAME: ClassVar[str]
    """Name of its block."""
    CODE: ClassVar[tuple[str, ...]] = ()
    """Folders of nearfar whose code determines the result."""
    MEASURED: ClassVar[bool] = False
    """Whether it measures, and so runs alone on its machine."""
    FILLED: ClassVar[tuple[str, ...]] = ()
    """Fields that ``[programs]`` fills; they are not keys of the file."""
    SHARED: ClassVar[tuple[str, ...]] = ()
    """Fields that are options of the verb of its name, see `with_options`."""

    def needs(self) -> list[str]:
        """Return the names of the inputs it reads, see `inputs`."""
        return []

    def check(self, inputs: PointInputs) -> None:
        """Raise NearfarError if the parameters are invalid; fast, as every point is checked."""

    def run(self, inputs: PointInputs) -> tuple[PointValues, bytes | None]:
        """Return the point's values, and the document that other points read, if it makes any."""
        raise NotImplementedError

    def asked(self, options: Callable[..., OptionsT], **more: Any) -> OptionsT:
        """Return a verb's options object, made of the point's `SHARED` keys and of `more`."""
        return options(**{name: getattr(self, name) for name in self.SHARED}, **more)


POINT_KINDS: Registry[type[PointKind]] = Registry("nearfar.points.kinds", "kind of point")

KindT = TypeVar("KindT", bound=PointKind)


def with_options(
    options: Any, *names: str, **defaults: Any
) -> Callable[[type[KindT]], type[KindT]]:
    """Return a decorator that gives a kind of point the verb's options `names` as keys.

    `defaults` replace the defaults of these options.
    """
    entries = {entry.name: entry for entry in option_fields(options)}
    fields = [
        (
            name,
            entries[name].type | None if entries[name].optional else entries[name].type,
            defaults.get(name, entries[name].default),
        )
        for name in names
    ]

    def decorate(kind: type[KindT]) -> type[KindT]:
        made: Any = msgspec.defstruct(
            kind.__name__,
            fields,
            bases=(kind,),
            module=kind.__module__,
            namespace={"__doc__": kind.__doc__, "SHARED": names},
            kw_only=True,
            frozen=True,
            forbid_unknown_fields=True,
        )
        return cast(type[KindT], made)

    return decorate


def decode_point(name: str, parameters: dict[str, Any]) -> PointKind:
    """Return the point of these parameters."""
    return msgspec.convert(parameters, POINT_KINDS.get(name))
