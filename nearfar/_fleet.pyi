from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Type:
    def __init__(
        self,
        kind: str,
        *,
        nullable: bool = False,
        low: float = 0.0,
        high: float = 0.0,
        above: bool = False,
        least: int = 0,
        most: int = 0,
        fields: Sequence[tuple[str, int, bool]] = [],
        allowed: Sequence[str] = [],
        inner: int = 0,
    ) -> None:
        """
        The type of a JSON value. `fields`: name, index of the type, whether it must be there.
        """

class Head:
    @property
    def host(self) -> str: ...
    @property
    def time_utc(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def cpu_model(self) -> str: ...
    @property
    def executable(self) -> str: ...
    @property
    def near_ns(self) -> float: ...
    @property
    def bytes(self) -> int: ...
    @property
    def objects(self) -> int: ...

class ObjectColumns:
    @property
    def names(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def name_begins(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def chase(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def independent(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def stream(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def write_back(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class ProfileRows:
    def __init__(
        self, types: Sequence[Type], kind: str, version: int, most: float, most_bytes: int
    ) -> None:
        """`types`: of a document's fields, the document's own first."""

    def add(self, json: bytes, *, plain: bool = False) -> Head | None:
        """
        Add a profile's objects; None, and nothing is added, unless it certainly is valid. `plain`: it was read and written again, so its letters may be beyond ASCII.
        """

    @property
    def columns(self) -> ObjectColumns: ...
