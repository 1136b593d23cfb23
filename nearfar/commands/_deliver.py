"""Delivers a verb's document: saves it, then prints it as JSON or as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nearfar.base.files import check_writable
from nearfar.documents import Document, save
from nearfar.documents.header import to_json
from nearfar.options.shared import DeliveryOptions

if TYPE_CHECKING:
    from rich.console import Console

DocumentT = TypeVar("DocumentT", bound=Document)


def check_output(*paths: Path | None) -> None:
    """Raise an error before long work if a named output file cannot be written."""
    for path in paths:
        if path is not None:
            check_writable(path)


def deliver_document(
    document: DocumentT,
    delivery: DeliveryOptions,
    show: Callable[[DocumentT, Console], None],
    *,
    saved: bool = False,
) -> None:
    """Save `document` if `delivery` names a file; print it as JSON, by `show`, or not at all.

    `saved`: the file was already written.
    """
    if delivery.output is not None and not saved:
        save(document, delivery.output)
    if delivery.quiet:
        return
    if delivery.json:
        print_json(document)
        return
    from rich.console import Console

    console = Console()
    show(document, console)
    if delivery.output is not None:
        console.print(f"wrote {delivery.output}", markup=False, highlight=False)


def sayer(console: Console) -> Callable[[str], None]:
    """Return a function that prints one line of a verb's own text to `console`."""

    def say(text: str) -> None:
        console.print(f"nearfar: {text}", style="dim", markup=False, highlight=False)

    return say


def print_json(document: Document) -> None:
    """Print a document as JSON on standard output."""
    sys.stdout.write(to_json(document).decode())
