"""How a verb that makes a document ends: saved, then printed as JSON, as a table, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.documents import Document, save
from nearfar.documents.header import to_json

if TYPE_CHECKING:
    from rich.console import Console


def deliver(
    document: Document,
    output: Path | None,
    *,
    json: bool,
    quiet: bool,
    show: Callable[[Console], None],
) -> None:
    """Save `document` to `output` if named; then print it, by `show` unless `json` or `quiet`."""
    if output is not None:
        save(document, output)
    if quiet:
        return
    if json:
        print(to_json(document).decode(), end="")
        return
    from rich.console import Console

    console = Console()
    show(console)
    if output is not None:
        console.print(f"wrote {output}", markup=False, highlight=False)
