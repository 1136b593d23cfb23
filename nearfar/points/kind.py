"""The interface of a kind of point: its parameters, its checks, its computation."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from nearfar.base.registry import Registry
from nearfar.points.inputs import PointInputs
from nearfar.points.row import PointValues


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

    def needs(self) -> list[str]:
        """Return the names of the inputs it reads, see `inputs`."""
        return []

    def check(self, inputs: PointInputs) -> None:
        """Raise NearfarError if it cannot exist; fast, because every point is checked."""

    def run(self, inputs: PointInputs) -> tuple[PointValues, bytes | None]:
        """Compute it; the bytes are a document that other points read."""
        raise NotImplementedError


POINT_KINDS: Registry[type[PointKind]] = Registry("nearfar.points.kinds", "kind of point")


def decode_point(name: str, parameters: dict[str, Any]) -> PointKind:
    """Return the point of these parameters."""
    return msgspec.convert(parameters, POINT_KINDS.get(name))
