"""Find the kind of a document, of a folder of documents, or of a sweep's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes
from nearfar.compare.files import documents_in
from nearfar.compare.kind import KINDS, ComparableKind

BENCHMARKS = "benchmarks"
"""Kind of the files of `make benchmarks`, which name none."""


def kind_of(path: Path) -> str:
    """Return the kind of the document at `path`, or of those in a folder."""
    if path.is_dir():
        if (path / "sweep.json").is_file():
            return "sweep"
        kinds = {kind_of(file) for file in documents_in(path)}
        if len(kinds) != 1:
            present = ", ".join(sorted(kinds)) or "no document"
            raise NearfarError(f"{path} must contain documents of one kind: it contains {present}")
        return kinds.pop()
    try:
        head = msgspec.json.decode(read_bytes(path, "the document"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NearfarError(
            f"cannot read {path}: it is not a complete JSON document ({error}); it may be "
            "truncated: make it again"
        ) from error
    if isinstance(head, dict) and isinstance(head.get("kind"), str):
        return str(head["kind"])
    if isinstance(head, dict) and {"producer", "rows"} <= set(head):
        return BENCHMARKS
    raise NearfarError(f"{path} is not a nearfar document: it has no key 'kind'")


def kind_for(a: Path, b: Path) -> ComparableKind[Any]:
    """Return the kind of two documents; refuse two kinds."""
    kinds = (kind_of(a), kind_of(b))
    if kinds[0] != kinds[1]:
        raise NearfarError(
            f"{a} is a {kinds[0]} and {b} a {kinds[1]}: compare two documents of one kind"
        )
    if kinds[0] not in KINDS.names():
        raise NearfarError(
            f"documents of kind {kinds[0]!r} cannot be compared; those that can: "
            f"{', '.join(KINDS.names())}"
        )
    return KINDS.get(kinds[0])()
