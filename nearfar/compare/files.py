"""The files of one side: a document, or a folder of repeated documents."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from nearfar.documents.header import Document, load

D = TypeVar("D", bound=Document)


def documents_in(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, by name."""
    return sorted(path for path in folder.glob("*.json") if path.is_file())


def load_all(path: Path, document: type[D]) -> list[D]:
    """Read the document at `path`, or all of a folder."""
    return [load(file, document) for file in (documents_in(path) if path.is_dir() else [path])]
