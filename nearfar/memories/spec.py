"""Memory specs such as ``dram``, ``node:1`` or ``file:/mnt/pmem0``, and their parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast, get_args

from nearfar.base.errors import NearfarError, nearest

Kind = Literal["dram", "node", "file", "devdax", "hugetlb", "model", "zram", "zswap", "swap"]
Pages = Literal["4k", "thp", "2m", "1g"]
"""4k: 4 KiB pages; thp: transparent huge pages, 2 MiB where the kernel gives them; 2m, 1g: pages
of the reserved pools."""
Load = Literal["none", "read", "store", "copy"]
"""Load that a contending core runs during every measurement."""
Dax = Literal["any", "require"]
"""any: a file is mapped without a page cache where its file system can; require: only so."""

Algorithm = Literal["", "lzo", "lzo-rle", "lz4", "lz4hc", "zstd", "deflate", "842"]
"""Compression of zram or zswap, as the kernel names it; empty: its default."""

PAGED: tuple[Kind, ...] = ("zram", "zswap", "swap")
"""Memories that hold pages only while no program touches them."""

PAGE_BYTES: dict[Pages, int] = {"4k": 4096, "thp": 2 << 20, "2m": 2 << 20, "1g": 1 << 30}

OPTIONS: dict[str, tuple[str, ...]] = {
    "pages": get_args(Pages),
    "load": get_args(Load),
    "dax": get_args(Dax),
    "algorithm": get_args(Algorithm)[1:],
}

HUGETLB: dict[str, Pages] = {"2M": "2m", "1G": "1g"}


@dataclass(frozen=True)
class MemorySpec:
    """One memory, as the user typed it."""

    kind: Kind
    node: int | None = None
    path: Path | None = None
    """Path of a file, a folder or a DAX device."""
    pages: Pages | None = None
    """None: every page size that matters."""
    load: Load = "none"
    dax: Dax = "any"
    algorithm: Algorithm = ""
    model: str = ""
    """Text after ``model:``: a library device, a profile's path, or ``random:SEED``."""

    def __str__(self) -> str:
        pages = f",pages={self.pages}" if self.pages and self.kind != "hugetlb" else ""
        load = f",load={self.load}" if self.load != "none" else ""
        dax = f",dax={self.dax}" if self.dax != "any" else ""
        algorithm = f",algorithm={self.algorithm}" if self.algorithm else ""
        return self._head() + pages + load + dax + algorithm

    def _head(self) -> str:
        match self.kind:
            case "dram":
                return "dram"
            case "node":
                return f"node:{self.node}"
            case "zram":
                return "zram"
            case "zswap" if self.path is None:
                return "zswap"
            case "file" | "devdax" | "swap" | "zswap":
                return f"{self.kind}:{self.path}"
            case "hugetlb":
                return "hugetlb:" + next(k for k, pages in HUGETLB.items() if pages == self.pages)
            case "model":
                return f"model:{self.model}"

    def slug(self) -> str:
        """Return a device name made of the spec: lower case, digits, single dashes."""
        return re.sub(r"[^a-z0-9]+", "-", str(self).lower()).strip("-")


def parse_spec(text: str, *, paged: bool = False) -> MemorySpec:
    """Return the parsed memory spec; refuse an invalid one and name the valid forms.

    `paged`: whether the caller can use a paged memory.
    """
    head, options = _split(text)
    kind, colon, rest = head.partition(":")
    if kind not in KINDS:
        named = "" if kind == text else f" {kind!r}"
        raise _refusal(text, f"unknown kind of memory{named}{nearest(kind, list(KINDS))}")
    if kind in PAGED and not paged:
        raise NearfarError(
            f"{text} is a paged memory, which no data can be put into: the kernel sends pages "
            f"there. Use `nearfar measure {kind}`, `nearfar run --far {kind}`"
        )
    form = KINDS[kind]
    spec = form.read(rest if colon else None)
    if isinstance(spec, str):
        raise _refusal(text, spec)
    chosen = _options(text, options)
    for key in chosen:
        if key not in form.options:
            takers = ", ".join(name for name, other in KINDS.items() if key in other.options)
            raise _refusal(text, f"{key}= is for {takers}, not for {kind}{form.why.get(key, '')}")
    return replace(
        spec,
        pages=cast("Pages | None", chosen.get("pages", spec.pages)),
        load=cast("Load", chosen.get("load", "none")),
        dax=cast("Dax", chosen.get("dax", "any")),
        algorithm=cast("Algorithm", chosen.get("algorithm", "")),
    )


def _dram(rest: str | None) -> MemorySpec | str:
    if rest is not None:
        return "dram has nothing after a colon; a node is node:N"
    return MemorySpec("dram")


def _node(rest: str | None) -> MemorySpec | str:
    # int() alone would also accept underscores and digits of other scripts.
    if not rest or not (rest.isdecimal() and rest.isascii()):
        return f"node: needs a node's number, not {rest or ''!r}"
    return MemorySpec("node", node=int(rest))


def _file(rest: str | None) -> MemorySpec | str:
    return MemorySpec("file", path=Path(rest)) if rest else "file: needs a path"


def _devdax(rest: str | None) -> MemorySpec | str:
    if not rest:
        return "devdax: needs a DAX device, such as devdax:/dev/dax0.0"
    return MemorySpec("devdax", path=Path(rest))


def _hugetlb(rest: str | None) -> MemorySpec | str:
    if rest not in HUGETLB:
        return f"hugetlb: needs a page size, {' or '.join(HUGETLB)}, not {rest or ''!r}"
    return MemorySpec("hugetlb", pages=HUGETLB[rest])


def _model(rest: str | None) -> MemorySpec | str:
    if not rest:
        return "model: needs a library device, a profile's path or random:SEED"
    word, colon, seed = rest.partition(":")
    if word == "random" and not (colon and seed.isdecimal() and seed.isascii()):
        return f"model:random: needs a seed, a whole number, not {seed!r}"
    return MemorySpec("model", model=rest)


def _zram(rest: str | None) -> MemorySpec | str:
    if rest is not None:
        return "zram has nothing after a colon: nearfar makes a device of its own"
    return MemorySpec("zram")


def _zswap(rest: str | None) -> MemorySpec | str:
    if rest == "":
        return "zswap: needs the path of a new swap file, or a folder"
    return MemorySpec("zswap", path=None if rest is None else Path(rest))


def _swap(rest: str | None) -> MemorySpec | str:
    if not rest:
        return "swap: needs the path of a new swap file, a folder, or a device with swap space"
    return MemorySpec("swap", path=Path(rest))


@dataclass(frozen=True)
class _Form:
    """Form of the spec of one kind of memory."""

    form: str
    read: Callable[[str | None], MemorySpec | str]
    """Parser of the text after the colon (None: no colon); returns the spec, or why it is
    refused."""
    options: tuple[str, ...]
    why: dict[str, str] = field(default_factory=dict)
    """Reasons why an option is refused."""


_FILE_PAGES = {"pages": " (a file's pages are its file system's)"}
_DEVICE_PAGES = {"pages": " (a device's pages are what its namespace is aligned to)"}
_HUGETLB_PAGES = {"pages": " (its size sets them: hugetlb:2M, hugetlb:1G)"}

KINDS: dict[Kind, _Form] = {
    "dram": _Form("dram", _dram, ("pages", "load")),
    "node": _Form("node:N (a NUMA node)", _node, ("pages", "load")),
    "file": _Form("file:PATH (a folder or a file in it)", _file, ("load", "dax"), _FILE_PAGES),
    "devdax": _Form("devdax:/dev/daxX.Y (a DAX device)", _devdax, ("load",), _DEVICE_PAGES),
    "hugetlb": _Form("hugetlb:2M|1G (reserved pages)", _hugetlb, ("load",), _HUGETLB_PAGES),
    "model": _Form(
        "model:NAME (a simulated memory: a library device, a profile's path, or random:SEED)",
        _model,
        ("pages",),
    ),
    "zram": _Form("zram (compressed memory)", _zram, ("algorithm",)),
    "zswap": _Form("zswap[:FILE] (compressed before a swap file)", _zswap, ("algorithm",)),
    "swap": _Form("swap:FILE|DEVICE (swap)", _swap, ()),
}

FORMS = ", ".join(form.form for form in KINDS.values())


def _split(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Split off trailing ``,key=value``; any other comma belongs to the path."""
    options: list[tuple[str, str]] = []
    while match := re.fullmatch(r"(.*),([a-z]+)=([^,=/]*)", text, re.DOTALL):
        text = match[1]
        options.insert(0, (match[2], match[3]))
    return text, options


def _options(text: str, options: list[tuple[str, str]]) -> dict[str, str]:
    """Return the options by key; refuse unknown keys and values, and a key given twice."""
    chosen: dict[str, str] = {}
    for key, value in options:
        if key not in OPTIONS:
            raise _refusal(text, f"unknown option {key!r}{nearest(key, list(OPTIONS))}")
        if value not in OPTIONS[key]:
            valid = ", ".join(OPTIONS[key])
            raise _refusal(text, f"{key}= must be one of {valid}, not {value!r}")
        if key in chosen:
            raise _refusal(text, f"{key}= is given twice")
        chosen[key] = value
    return chosen


def _refusal(text: str, why: str) -> NearfarError:
    options = "; ".join(f",{key}={'|'.join(values)}" for key, values in OPTIONS.items())
    stop = "" if why.endswith("?") else "."
    return NearfarError(
        f"cannot read the memory {text!r}: {why}{stop} A memory is {FORMS}; with options {options}"
    )
