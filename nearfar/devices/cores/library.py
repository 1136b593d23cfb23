"""Cores by spec: those that come with nearfar, and files.

A core file is TOML with the keys of `CoreFigures`. A figure is a number, or a table with `value`,
`low`, `high`, `source` and `note`; ``[defaults]`` gives `how` and `source` to the others.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.devices.toml_lines import LineMap
from nearfar.devices.toml_read import fields_of, read_tables
from nearfar.documents import MachineProfile, load
from nearfar.documents.core import CoreFigure, CoreFigures

FOLDER = Path(__file__).parent

LIMITS = {
    "prefetch_next_page": (0.0, 1.0),
    "frequency_ghz": (0.1, 20.0),
    "width": (1.0, 64.0),
    "reorder_window": (2.0, 16384.0),
    "private_bytes": (4096.0, 2.0**32),
}
"""Range of plausible values by key; others are above 0 and at most `MOST`."""
MOST = 1e6

STEPPING = "(-[0-9A-F]+)?"
"""End of a processor's id that a pattern may leave out."""


def core_names() -> list[str]:
    """Return the names of the library's cores, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_core(spec: str) -> CoreFigures:
    """Return the core that `spec` names: a library core, a .toml file or a MachineProfile."""
    path = Path(spec)
    if path.suffix.lower() == ".json":
        measured = load(path, MachineProfile).core
        if measured is None:
            raise NearfarError(
                f"{path} has no core: measure it with `nearfar measure core -o {path}`"
            )
        return measured
    if path.suffix.lower() == ".toml" or "/" in spec:
        return _read(path)
    name = spec.lower()
    if name not in core_names():
        hint = nearest(name, core_names()) or f"; there are: {', '.join(core_names())}"
        raise NearfarError(f"there is no core {spec!r}{hint}")
    return _library_core(name)


def core_of_processor(cpu_model: str, cpu_id: str = "") -> CoreFigures | None:
    """Return the library's core of the processor named `cpu_model`; None if there is none.

    If no core matches that name (hypervisors may shorten it to "AMD EPYC"), `cpu_id` decides.
    """
    for core in _library():
        if any(re.search(pattern, cpu_model, re.IGNORECASE) for pattern in core.cpu_models):
            return core
    for core in _library():
        if any(re.fullmatch(f"{ids.pattern}{STEPPING}", cpu_id) for ids in core.cpu_ids):
            return core
    return None


@cache
def plausible_cores() -> CoreFigures:
    """Return the median of each figure over the library, with minimum and maximum as interval."""
    cores = [core for core in _library() if core.plausible]
    figures = {}
    for key in _figure_keys():
        known = [figure for core in cores if (figure := core.figures().get(key)) is not None]
        if not known:
            continue
        figures[key] = CoreFigure(
            value=median(figure.value for figure in known),
            low=min(figure.range[0] for figure in known),
            high=max(figure.range[1] for figure in known),
            how="assumed",
            note=f"median and range of {len(known)} cores of the library",
        )
    span = CoreFigures(name="plausible", title="Any core of the library")
    return msgspec.structs.replace(span, **figures)


def completed_core(core: CoreFigures | None, other: CoreFigures | None = None) -> CoreFigures:
    """Return `core` with missing figures from `other`, by default from `plausible_cores`."""
    other = other or plausible_cores()
    if core is None:
        return other
    figures = other.figures()
    missing = {key: figure for key, figure in figures.items() if getattr(core, key) is None}
    sources = {**other.sources, **core.sources}
    return msgspec.structs.replace(core, **missing, sources=sources)


@cache
def _library_core(name: str) -> CoreFigures:
    return _read(FOLDER / f"{name}.toml")


def _library() -> list[CoreFigures]:
    return [_library_core(name) for name in core_names()]


@cache
def _figure_keys() -> list[str]:
    return [field.name for field in fields_of(CoreFigures) if field.type == CoreFigure | None]


def _read(path: Path) -> CoreFigures:
    text, data = read_tables(path, "core")

    def refuse(key: tuple[str | int, ...], message: str) -> NearfarError:
        return NearfarError(f"{path}:{LineMap(text).line(key)}: {message}")

    defaults = data.pop("defaults", {})
    if not isinstance(defaults, dict) or not defaults.keys() <= {"how", "source"}:
        raise refuse(("defaults",), "[defaults] must be a table of 'how' and 'source'")
    fields = [field.name for field in fields_of(CoreFigures)]
    for key in data:
        if key not in fields:
            hint = nearest(key, fields) or f"; there are: {', '.join(fields)}"
            raise refuse((key,), f"unknown key {key!r} of a core{hint}")
    for key in _figure_keys():
        if key in data:
            data[key] = _with_defaults(data[key], defaults)
    for walk in data.get("page_walks", []):
        if isinstance(walk, dict) and "walk_ns" in walk:
            walk["walk_ns"] = _with_defaults(walk["walk_ns"], defaults)
    try:
        core = msgspec.convert(data, CoreFigures)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        key = where.partition(".")[0].partition("[")[0].removesuffix("`")
        raise refuse((key,), f"key {key!r}: {message}" if key else message) from error
    for key, message in _problems(core):
        raise refuse((key,), message)
    return core


def _with_defaults(figure: Any, defaults: dict[str, Any]) -> Any:
    """Return `figure` as a table with defaults; other types stay as they are and fail later."""
    if isinstance(figure, bool) or not isinstance(figure, int | float | dict):
        return figure
    return defaults | (figure if isinstance(figure, dict) else {"value": figure})


def _problems(core: CoreFigures) -> list[tuple[str, str]]:
    """Return keys and what is wrong with their values."""
    problems = []
    walks: list[tuple[str, CoreFigure]] = [("page_walks", each.walk_ns) for each in core.page_walks]
    for key, figure in [*core.figures().items(), *walks]:
        low, high = figure.range
        least, most = LIMITS.get(key, (0.0, MOST))
        for value in (figure.value, low, high):
            positive = value > 0.0 or least == value == 0.0
            if not (math.isfinite(value) and positive and least <= value <= most):
                bounds = f"{least:g} to {most:g}" if least > 0.0 else f"above 0, at most {most:g}"
                problems.append((key, f"{key} is {value:g}: a core has {bounds}"))
        if not low <= figure.value <= high:
            problems.append((key, f"{key}: {figure.value:g} is outside {low:g} to {high:g}"))
        if figure.how == "published" and figure.source not in core.sources:
            problems.append((key, _no_source(core, key, figure.source)))
        if figure.how == "assumed" and not figure.note:
            problems.append((key, f"{key}: an assumed figure needs a note that says why"))
    patterns = [("cpu_models", pattern) for pattern in core.cpu_models]
    patterns += [("cpu_ids", ids.pattern) for ids in core.cpu_ids]
    for key, pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            problems.append((key, f"{pattern!r} is no regular expression: {error}"))
    for ids in core.cpu_ids:
        if ids.source not in core.sources:
            problems.append(("cpu_ids", _no_source(core, "cpu_ids", ids.source)))
    return problems


def _no_source(core: CoreFigures, key: str, source: str) -> str:
    names = ", ".join(core.sources) or "none"
    return f"{key}: there is no source {source!r}; there are: {names}"
