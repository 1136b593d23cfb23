"""The header of every document, and functions that read and write documents."""

from __future__ import annotations

import datetime
import platform
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec

from nearfar import __version__
from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes, write_atomically
from nearfar.documents.gate import decoded, visible
from nearfar.documents.processor import first_processor, processor_id, processor_name


class Producer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Version, machine, time and command that made a document."""

    nearfar_version: str
    command: str
    """The command line, quoted so that it can be typed again."""
    host: str
    cpu_model: str
    kernel: str
    time_utc: str
    """ISO 8601."""
    cpu_id: str = ""
    """Vendor, family, model and stepping in perf's form, such as GenuineIntel-6-55-7; for Arm cores
    implementer and part; empty: unknown."""

    @property
    def processor(self) -> str:
        """The processor's name, and its id where it is known."""
        return f"{self.cpu_model} ({self.cpu_id})" if self.cpu_id else self.cpu_model

    def same_processor(self, other: Producer) -> bool:
        """Return whether both ran on a processor of one name and, where both are known, one id."""
        ids = {self.cpu_id, other.cpu_id} - {""}
        return self.cpu_model == other.cpu_model and len(ids) < 2


class Document(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of all documents; `kind` and `version` are class constants, written first."""

    KIND: ClassVar[str]
    MADE_BY: ClassVar[str] = ""
    """The verb that writes it, for messages; empty for documents that no verb reads."""
    VERSION: ClassVar[int]

    kind: str = ""
    version: int = 0
    producer: Producer

    def __post_init__(self) -> None:
        self.kind = self.kind or self.KIND
        self.version = self.version or self.VERSION

    def contradiction(self) -> str:
        """Return how fields contradict each other, in words; empty: they do not."""
        return ""


class _Head(msgspec.Struct):
    kind: object = ""
    version: object = None


D = TypeVar("D", bound=Document)


def producer(command: list[str] | None = None) -> Producer:
    """Describe this process, machine and moment."""
    rows = first_processor()
    return Producer(
        nearfar_version=__version__,
        command=shlex.join(command if command is not None else ["nearfar", *sys.argv[1:]]),
        host=platform.node(),
        cpu_model=processor_name(rows) or platform.machine(),
        kernel=platform.release(),
        time_utc=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        cpu_id=processor_id(rows),
    )


def save(document: Document, path: Path) -> None:
    """Write `document` to `path` as indented JSON. An error leaves no partial file."""
    write_atomically(path, to_json(document))


def to_json(document: Any) -> bytes:
    """Encode as indented JSON with a final newline; NaN and infinities become null."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def load(path: Path, kind: type[D]) -> D:
    """Read a document of type `kind` from `path`."""
    return read_document(read_bytes(path, kind.KIND), str(path), kind)


def read_document(data: bytes, name: str, kind: type[D]) -> D:
    """Return the document in `data`, read from `name`; raise NearfarError if it is invalid."""
    text = visible(data)
    # The head is read twice only where it is unusual: finding its keys takes a pass over the file.
    if (first := _FIRST_KEYS.match(text)) is None or first.groups() != _keys_of(kind):
        _check_head(text, name, kind)
    try:
        document = decoded(text, name, kind)
    except msgspec.ValidationError as error:
        _check_head(text, name, kind)
        raise NearfarError(f"{name} is not a valid {kind.KIND}: {error}") from error
    if (document.kind, document.version) != (kind.KIND, kind.VERSION):
        _check_head(text, name, kind)  # a key given twice
    if contradiction := document.contradiction():
        raise NearfarError(f"{name} is not a valid {kind.KIND}: {contradiction}")
    return document


_FIRST_KEYS = re.compile(rb'\s*\{\s*"kind"\s*:\s*"([a-z-]+)"\s*,\s*"version"\s*:\s*(\d+)\s*,')


@cache
def _keys_of(kind: type[Document]) -> tuple[bytes, bytes]:
    return kind.KIND.encode(), b"%d" % kind.VERSION


def _check_head(text: bytes, name: str, kind: type[Document]) -> None:
    """Raise NearfarError for a document of another kind or version."""
    try:
        head = decoded(text, name, _Head)
    except msgspec.ValidationError:
        head = _Head()
    if not head.kind:
        raise NearfarError(f"{name} is not a nearfar document: it has no key 'kind'")
    if head.kind != kind.KIND:
        maker = f", as `{kind.MADE_BY}` writes it" if kind.MADE_BY else ""
        raise NearfarError(f"{name} is of kind {head.kind}; a {kind.KIND} is needed here{maker}")
    if head.version != kind.VERSION:
        raise NearfarError(
            f"{name} is a {kind.KIND} of version {head.version}, and this nearfar reads "
            f"version {kind.VERSION}: make it again with this nearfar"
        )


def loaded(value: Path | D, kind: type[D]) -> D:
    """Return a document; if a path is given, read it from its file."""
    return load(value, kind) if isinstance(value, Path) else value


def origin(value: object) -> str:
    """Return the path of a document; empty if the document was given in memory."""
    return str(value) if isinstance(value, Path) else ""


def schema(kind: type[Document]) -> dict[str, Any]:
    """Return the JSON schema of a document type."""
    return msgspec.json.schema(kind)
