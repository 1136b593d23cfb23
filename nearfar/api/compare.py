"""The API function `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.compare import CompareOptions

if TYPE_CHECKING:
    from nearfar.documents import Comparison


@api_function(CompareOptions)
def compare(options: CompareOptions) -> Comparison:
    """Compare two documents of one kind: what changed, by how much, and if chance explains it."""
    from nearfar.compare.api import compare as run

    return run(
        options.a,
        options.b,
        limit=options.limit(),
        correction=options.correct,
        edited=options.edited,
        across_machines=options.across_machines,
    )
