"""Reads a device from TOML strictly; each error names file, line, key and the valid keys.

The keys are those of DeviceProfile. A table ``[defaults]`` gives `how`, `source` and `note` to
every figure without its own, ``[defaults.latency]`` (or any other array) to the figures of that
array.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.files import read_bytes
from nearfar.devices.check import check_device
from nearfar.devices.toml_lines import LineMap
from nearfar.devices.toml_lines import Path as KeyPath
from nearfar.documents.device import (
    BandwidthFigure,
    BufferFigure,
    ChainsFigure,
    DeviceProfile,
    FaultFigure,
    Figure,
    InterleaveFigure,
    LatencyFigure,
    LoadedLatencyCurve,
    MeasuredContext,
    PagedMemory,
    Source,
    StallFigure,
    WriteQueueFigure,
)
from nearfar.documents.header import Producer, producer

ARRAYS: dict[str, type[Figure]] = {
    "latency": LatencyFigure,
    "bandwidth": BandwidthFigure,
    "chains": ChainsFigure,
    "loaded_latency": LoadedLatencyCurve,
    "buffers": BufferFigure,
    "stalls": StallFigure,
    "write_queues": WriteQueueFigure,
    "interleaves": InterleaveFigure,
    "faults": FaultFigure,
}
DEFAULT_KEYS = ["how", "source", "note"]

WITHOUT_UNIT = {
    "value": ("value_ns", "value_gb_per_s"),
    "latency": ("value_ns",),
    "idle": ("value_ns",),
    "bandwidth": ("value_gb_per_s",),
    "capacity": ("capacity_bytes",),
    "size": ("capacity_bytes", "region_bytes"),
    "access": ("access_bytes",),
    "region": ("region_bytes",),
    "page": ("page_bytes",),
    "block": ("block_bytes",),
    "granularity": ("granularity_bytes",),
    "length": ("length_ns",),
    "low": ("low_ns", "low_gb_per_s"),
    "high": ("high_ns", "high_gb_per_s"),
}
"""Keys with a unit, by names that lack it."""

fields_of = cache(msgspec.structs.fields)
"""Fields of a struct; msgspec evaluates all annotations at each call."""


def read_toml(path: Path) -> DeviceProfile:
    """Read the device in the TOML file `path`."""
    text, data = read_tables(path, "device")
    return _Reader(path, text).device(data)


def read_tables(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """Return the text of the TOML file `path` and its data; `what` names it in errors."""
    try:
        text = read_bytes(path, what).decode()
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise NearfarError(f"cannot read {what} {path}: it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise NearfarError(f"cannot read {what} {path}: it is not valid TOML: {error}") from error


class _Reader:
    """Reader of one file, whose errors have line numbers."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def device(self, data: dict[str, Any]) -> DeviceProfile:
        defaults = self._defaults(data.pop("defaults", {}))
        self._check_kind_and_version(data)
        self._check_keys(data, DeviceProfile, (), extra=["defaults"])
        for name, source in self._tables(data, "sources").items():
            self._check_keys(source, Source, ("sources", name))
        for array, kind in ARRAYS.items():
            figures = data.get(array, [])
            if not isinstance(figures, list) or not all(isinstance(f, dict) for f in figures):
                self._refuse((array,), f"{array!r} must be a list of tables: write [[{array}]]")
            for index, figure in enumerate(figures):
                for key, value in (defaults[""] | defaults.get(array, {})).items():
                    figure.setdefault(key, value)
                self._check_keys(figure, kind, (array, index))
        if "paged" in data:
            self._check_keys(self._tables(data, "paged"), PagedMemory, ("paged",))
        if "measured" in data:
            self._check_keys(self._tables(data, "measured"), MeasuredContext, ("measured",))
        if "producer" in data:
            self._check_keys(self._tables(data, "producer"), Producer, ("producer",))
        made_by = msgspec.to_builtins(producer(["nearfar", "device", "show", str(self._path)]))
        try:
            device = msgspec.convert({"producer": made_by} | data, DeviceProfile)
        except msgspec.ValidationError as error:
            message, _, where = str(error).partition(" - at `")
            path = _key_path(where.removesuffix("`"))
            self._refuse(path, f"key {path[-1]!r}: {message}" if path else message)
        problem = check_device(device)
        if problem is not None:
            self._refuse(*problem)
        return device

    def _check_kind_and_version(self, data: dict[str, Any]) -> None:
        for key, value in (("kind", DeviceProfile.KIND), ("version", DeviceProfile.VERSION)):
            if data.get(key) != value:
                state = f"is {data[key]!r}" if key in data else "is missing"
                self._refuse((key,), f"key {key!r} {state}: a device file says {key} = {value!r}")

    def _defaults(self, table: Any) -> dict[str, dict[str, Any]]:
        """Return the defaults of all figures under ``""`` and those of arrays by name."""
        defaults: dict[str, dict[str, Any]] = {"": {}}
        for key, value in self._tables({"defaults": table}, "defaults").items():
            if key in ARRAYS and isinstance(value, dict):
                defaults[key] = value
                for inner in value:
                    if inner not in DEFAULT_KEYS:
                        self._unknown(("defaults", key, inner), DEFAULT_KEYS)
            elif key in DEFAULT_KEYS:
                defaults[""][key] = value
            else:
                self._unknown(("defaults", key), [*DEFAULT_KEYS, *ARRAYS])
        return defaults

    def _tables(self, data: dict[str, Any], key: str) -> dict[str, Any]:
        table = data.get(key, {})
        if not isinstance(table, dict):
            self._refuse((key,), f"{key!r} must be a table: write [{key}]")
        return table  # type: ignore[no-any-return]

    def _check_keys(
        self, table: Any, kind: type[msgspec.Struct], path: KeyPath, extra: list[str] | None = None
    ) -> None:
        """Refuse keys of `table` that `kind` does not have, and missing required ones."""
        if not isinstance(table, dict):
            self._refuse(path, f"{_header(path)} must be a table")
        fields = fields_of(kind)
        valid = [field.encode_name for field in fields]
        for key in table:
            if key not in valid:
                self._unknown((*path, key), [*valid, *(extra or [])])
        for field in fields:
            if field.required and field.encode_name not in (*table, "producer"):
                name = field.encode_name
                self._refuse(path, f"{_header(path)} lacks the key {name!r}")

    def _unknown(self, path: KeyPath, valid: list[str]) -> None:
        key = str(path[-1])
        place = f"unknown key {key!r} in {_header(path[:-1])}"
        for stem in (key, key.rpartition("_")[0]):
            candidates = [name for name in WITHOUT_UNIT.get(stem, ()) if name in valid]
            if candidates and stem == key:
                self._refuse(path, f"{place}: it has no unit; did you mean {candidates[0]!r}?")
            elif candidates:
                self._refuse(path, f"{place}: not this unit; did you mean {candidates[0]!r}?")
        hint = nearest(key, valid) or f"; there are: {', '.join(valid)}"
        self._refuse(path, place + hint)

    def _refuse(self, path: KeyPath, message: str) -> None:
        line = LineMap(self._text).line(path)
        raise NearfarError(f"{self._path}:{line}: {message}")


def _header(path: KeyPath) -> str:
    """Return `path` as a TOML header: ``[[latency]]``, ``[sources.x]``."""
    if not path:
        return "the file"
    names = ".".join(str(part) for part in path if isinstance(part, str))
    return f"[[{names}]]" if isinstance(path[-1], int) else f"[{names}]"


def _key_path(where: str) -> KeyPath:
    """Return the path of msgspec's ``$.latency[0].value_ns``."""
    path: list[str | int] = []
    for part in where.removeprefix("$").split("."):
        name, *indices = part.replace("]", "").split("[")
        path += [name] if name else []
        path += [int(index) if index.isdigit() else index for index in indices]
    return tuple(path)
