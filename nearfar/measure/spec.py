"""Memory specs: what people type to name a memory, and the one parser for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

from nearfar.base.errors import NearfarError, nearest

Kind = Literal["dram", "node", "file"]
Pages = Literal["4k", "thp", "2m"]
"""4k: 4 KiB pages; thp: transparent huge pages, 2 MiB where the kernel gives them; 2m: pages of
the reserved 2 MiB pool."""
Load = Literal["none", "read", "store", "copy"]
"""What a contending core does beside every measurement."""

OPTIONS: dict[str, tuple[str, ...]] = {"pages": get_args(Pages), "load": get_args(Load)}

FORMS = "dram, node:N (a NUMA node), file:PATH (a folder or a file in it)"

PAGE_BYTES: dict[Pages, int] = {"4k": 4096, "thp": 2 << 20, "2m": 2 << 20}


@dataclass(frozen=True)
class MemorySpec:
    """One memory, as typed."""

    kind: Kind
    node: int | None = None
    path: Path | None = None
    pages: Pages | None = None
    """None: every page size that matters."""
    load: Load = "none"

    def __str__(self) -> str:
        where = {"dram": "dram", "node": f"node:{self.node}", "file": f"file:{self.path}"}[
            self.kind
        ]
        pages = f",pages={self.pages}" if self.pages else ""
        load = f",load={self.load}" if self.load != "none" else ""
        return where + pages + load

    def slug(self) -> str:
        """Return a device name made of the spec: lower case, digits, single dashes."""
        return re.sub(r"[^a-z0-9]+", "-", str(self).lower()).strip("-")


def parse_spec(text: str) -> MemorySpec:
    """Parse a memory spec, or refuse it and say what is valid."""
    head, options = _split(text)
    kind, colon, rest = head.partition(":")
    if kind == "dram":
        if colon:
            raise _refusal(text, "dram takes nothing after a colon; a node is node:N")
        return _with_options(text, MemorySpec("dram"), options)
    if kind == "node":
        # isdecimal and isascii: int() would take other scripts' digits and underscores too.
        if not (rest.isdecimal() and rest.isascii()):
            raise _refusal(text, f"node: needs a node's number, not {rest!r}")
        return _with_options(text, MemorySpec("node", node=int(rest)), options)
    if kind == "file":
        if not rest:
            raise _refusal(text, "file: needs a path")
        spec = _with_options(text, MemorySpec("file", path=Path(rest)), options)
        if spec.pages is not None:
            raise _refusal(text, "pages= is for dram and node:N; a file's pages are its system's")
        return spec
    raise _refusal(text, f"{kind!r} is no kind of memory{nearest(kind, ['dram', 'node', 'file'])}")


def _split(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Split off trailing ``,key=value``; a comma followed by anything else is the path's."""
    options: list[tuple[str, str]] = []
    while match := re.fullmatch(r"(.*),([a-z]+)=([^,=/]*)", text, re.DOTALL):
        text = match[1]
        options.insert(0, (match[2], match[3]))
    return text, options


def _with_options(text: str, spec: MemorySpec, options: list[tuple[str, str]]) -> MemorySpec:
    chosen: dict[str, str] = {}
    for key, value in options:
        if key not in OPTIONS:
            raise _refusal(text, f"there is no option {key!r}{nearest(key, list(OPTIONS))}")
        if value not in OPTIONS[key]:
            valid = ", ".join(OPTIONS[key])
            raise _refusal(text, f"{key}= is one of {valid}, not {value!r}")
        if key in chosen:
            raise _refusal(text, f"{key}= is given twice")
        chosen[key] = value
    return replace(
        spec,
        pages=cast("Pages | None", chosen.get("pages")),
        load=cast("Load", chosen.get("load", "none")),
    )


def _refusal(text: str, why: str) -> NearfarError:
    options = "; ".join(f",{key}={'|'.join(values)}" for key, values in OPTIONS.items())
    return NearfarError(
        f"cannot read the memory {text!r}: {why}. A memory is {FORMS}, with options {options}"
    )
