"""The verb `schema`."""

from __future__ import annotations

import json
import sys

from nearfar import documents
from nearfar.base.errors import CommandError, nearest

KINDS: dict[str, type[documents.Document]] = {
    kind.KIND: kind
    for kind in vars(documents).values()
    if isinstance(kind, type)
    and issubclass(kind, documents.Document)
    and kind is not documents.Document
}


def schema(kind: str = "") -> None:
    """Print the JSON schema of a document kind.

    Parameters
    ----------
    kind
        The value of a document's key `kind`, such as device-profile, workload-profile, prediction
        or plan; an unknown one lists all.
    """
    if not kind:
        raise CommandError(f"name a document kind: {', '.join(KINDS)}")
    if kind not in KINDS:
        raise CommandError(
            f"there is no document kind {kind!r}{nearest(kind, list(KINDS))}; "
            f"there are: {', '.join(KINDS)}"
        )
    json.dump(documents.schema(KINDS[kind]), sys.stdout, indent=1)
    print()
