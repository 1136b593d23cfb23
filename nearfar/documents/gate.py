r"""Decode documents from files with all checks: text, depth, types, bounds, consistency.

Control characters become visible text (``\u001b``), so that no name reaches a terminal as a
command. Bounds of single fields are in their types (`nearfar.documents.fields`); the document's own
`contradiction` checks how fields agree with each other.
"""

from __future__ import annotations

import re
import threading
from typing import TypeVar

import msgspec

from nearfar.base.errors import NearfarError

T = TypeVar("T")
_ONE_AT_A_TIME = threading.Lock()
"""msgspec 0.22 registers a type before it knows the type's fields: a second thread that decodes
this type at that moment crashes the process."""

_ESCAPE = re.compile(rb"\\(?:(u00(?:0[0-8bcefBCEF]|1.|7[fF]|[89].)|[bfr])|.)", re.DOTALL)
"""A JSON escape; the group matches escapes of control characters except newline and tab."""
_RAW = re.compile(rb"\x7f|\xc2([\x80-\x9f])")
"""Control characters that JSON permits unescaped: delete, and C1 in UTF-8."""


def visible(data: bytes) -> bytes:
    """Return the JSON with control characters turned into visible text."""
    if b"\x7f" in data or b"\xc2" in data:
        data = _RAW.sub(lambda hit: b"\\u00%02x" % (hit[1] or hit[0])[0], data)
    if b"\\" not in data:
        return data
    return _ESCAPE.sub(lambda hit: b"\\" * (hit[1] is not None) + hit[0], data)


def decoded(data: bytes, name: str, kind: type[T]) -> T:
    """Return the JSON in `data`, made `visible`, as `kind`; an error's sentence calls it `name`.

    Raises msgspec.ValidationError where it is JSON of another shape. Threads may call it at once.
    """
    with _ONE_AT_A_TIME:
        decoder = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except RecursionError:
        raise NearfarError(
            f"{name} is nested more deeply than any document of nearfar's: make it again"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not data.strip():
            raise NearfarError(f"{name} is empty: make it again") from None
        if "truncated" in str(error):
            raise NearfarError(
                f"{name} is not a whole JSON document, its end is missing: make it again"
            ) from None
        raise NearfarError(f"{name} is not a JSON document: {error}") from error
