"""Writes a device as short TOML that `toml_read` reads back equal."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.files import write_atomically
from nearfar.devices.toml_read import ARRAYS, DEFAULT_KEYS
from nearfar.documents.device import DeviceProfile

POINTS_PER_LINE = 5
"""Points of a curve in a line of at most 100 columns."""


def save_toml(device: DeviceProfile, path: Path) -> None:
    """Write `device` to `path` atomically."""
    write_atomically(path, to_toml(device))


def to_toml(device: DeviceProfile, with_producer: bool = True) -> str:
    """Return `device` as TOML; the most common how, source and note become defaults."""
    data: dict[str, Any] = msgspec.to_builtins(device)
    made_by = data.pop("producer")
    sources = data.pop("sources")
    measured = data.pop("measured", None)
    not_seen = data.pop("not_seen")
    paged = data.pop("paged", None)
    figures = {array: data.pop(array) for array in ARRAYS}
    lines = _table({key: value for key, value in data.items() if value not in (None, "")})
    for name, source in sources.items():
        lines += ["", f"[sources.{_key(name)}]", *_table(source)]
    if paged is not None:
        lines += ["", "[paged]", *_table(paged)]
    for array, rows in figures.items():
        if not rows:
            continue
        shared = _shared(rows)
        if shared:
            lines += ["", f"[defaults.{array}]", *_table(shared)]
        for row in rows:
            fields = {key: value for key, value in row.items() if shared.get(key) != value}
            if "note" in shared and "note" not in row:
                fields["note"] = ""
            lines += ["", f"[[{array}]]", *_table(fields)]
    if not_seen:
        lines += ["", "[not_seen]", *_table(not_seen)]
    if measured is not None:
        environment = measured.pop("environment")
        lines += ["", "[measured]", *_table(measured)]
        lines += ["", "[measured.environment]", *_table(environment)]
    if with_producer:
        lines += ["", "[producer]", *_table(made_by)]
    return "\n".join(lines) + "\n"


def _shared(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the how, source and note of the majority of rows."""
    shared = {}
    for key in DEFAULT_KEYS:
        ((value, times),) = Counter(row.get(key) for row in rows).most_common(1)
        if value is not None and times > 1 and times > len(rows) / 2:
            shared[key] = value
    return shared


def _table(table: dict[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isascii() and bare.isalnum() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; only DEL must be escaped in TOML and is not in JSON.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, dict):
        return f"{{{', '.join(_table(value))}}}"
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list | tuple):
            return _points(value)
        if value and isinstance(value[0], dict):
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        return f"[{', '.join(_value(item) for item in value)}]"
    return repr(value)


def _points(points: Any) -> str:
    shown = [f"[{', '.join(repr(number) for number in point)}]" for point in points]
    rows = [shown[i : i + POINTS_PER_LINE] for i in range(0, len(shown), POINTS_PER_LINE)]
    return "[\n" + "".join(f"  {', '.join(row)},\n" for row in rows) + "]"
