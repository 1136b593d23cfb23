"""Columns of a CSV of curves: bandwidth, latency, read share and order of load, in which units."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import read_bytes

BANDWIDTH_UNITS = {
    "GB/s": 1.0,
    "MB/s": 1e-3,
    "KB/s": 1e-6,
    "B/s": 1e-9,
    "GiB/s": 2**30 / 1e9,
    "MiB/s": 2**20 / 1e9,
}
"""GB/s (1e9 B/s) per unit. Not gb/s or Gbps, which mean bits to some and bytes to others."""

_SPELLINGS = {
    "gb_s": "GB/s",
    "mb_s": "MB/s",
    "gb_per_s": "GB/s",
    "mb_per_s": "MB/s",
    "kb_per_s": "KB/s",
    "b_per_s": "B/s",
    "gib_per_s": "GiB/s",
    "mib_per_s": "MiB/s",
    "mb/sec": "MB/s",
}
_LATENCY_UNITS = {"ns": 1.0, "us": 1e3, "ps": 1e-3}
_CYCLES = re.compile(r"cycles\s*@\s*([0-9.]+)\s*GHz", re.IGNORECASE)

_SHARE_COLUMNS = {
    "read_share": 1.0,
    **dict.fromkeys(
        ("read_pct", "read_percent", "read_percentage", "read_%", "read_share_%"), 0.01
    ),
    **dict.fromkeys(("rd_percentage", "rd_percent", "rd_pct", "rd_%"), 0.01),
}
"""Names of a read-share column and their factors to 0..1; rd_percentage is Mess 1.0's."""

_SPREADS = ("_std", "_stddev", "_min", "_max", "_ci")
"""Ends of names of columns about a quantity's spread."""

_MAX_SHOWN = 200
"""Characters of a header in a message: a file that is no CSV may be one line."""
_DELAY_COLUMNS = ("pause", "delay", "inject_delay")
"""Names of a column that sets the load: the longest delay is the lowest load."""


def bandwidth_factor(unit: str) -> float:
    """Return GB/s per `unit`."""
    spelled = _SPELLINGS.get(unit.strip().lower(), unit.strip())
    if spelled not in BANDWIDTH_UNITS:
        raise NearfarError(
            f"the bandwidth unit {unit!r} is not one of {', '.join(BANDWIDTH_UNITS)}; "
            "give it by --bandwidth-unit"
        )
    return BANDWIDTH_UNITS[spelled]


def latency_factor(unit: str) -> float:
    """Return ns per `unit`: ns, us, ps, or cycles at a frequency (``cycles@2.1GHz``)."""
    if unit.strip().lower() in _LATENCY_UNITS:
        return _LATENCY_UNITS[unit.strip().lower()]
    cycles = _CYCLES.fullmatch(unit.strip())
    if cycles is None or float(cycles[1]) <= 0:
        raise NearfarError(
            f"the latency unit {unit!r} is not ns, us, ps or cycles at a frequency such as "
            "cycles@2.1GHz; give it by --latency-unit"
        )
    return 1.0 / float(cycles[1])


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row of `path` that is not a comment."""
    try:
        text = read_bytes(path, "curve").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NearfarError(f"cannot read curve {path}: it is not text in UTF-8") from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise NearfarError(f"{path} is empty")
    separator = max(",;\t", key=lines[0][1].count)
    for number, line in lines:
        yield number, [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def quantity_column(
    header: list[str], quantity: str, given: str | None, missing: list[str]
) -> tuple[int, float]:
    """Return the index of the `quantity`'s column and its factor to GB/s or ns.

    Adds a clause to `missing` if the column or its unit is missing, so that one sentence can name
    all of them.
    """
    factor = bandwidth_factor if quantity == "bandwidth" else latency_factor
    units = [_unit(name, quantity) for name in header]
    named = [index for index, unit in enumerate(units) if unit is not None]
    if not named:
        names = ", ".join(header)
        shown = names if len(names) <= _MAX_SHOWN else f"{names[:_MAX_SHOWN]}..."
        missing.append(f"there is no column {quantity!r} (there are: {shown})")
        return 0, 1.0
    if given is not None:
        # The option is about a column without a unit, else about the first.
        bare = [index for index in named if not _is_unit(units[index] or "", factor)]
        return (bare or named)[0], factor(given)
    for index in named:
        if _is_unit(units[index] or "", factor):
            return index, factor(units[index] or "")
    missing.append(
        f"the column {header[named[0]]!r} does not state its unit: name it "
        f"{'bandwidth_gb_per_s' if quantity == 'bandwidth' else 'latency_ns'} or give "
        f"--{quantity}-unit"
    )
    return named[0], 1.0


def share_column(header: list[str]) -> tuple[int, float] | None:
    """Return the index of the read-share column and its factor to 0..1, if there is one."""
    for index, name in enumerate(header):
        plain = re.sub(r"[^a-z%]+", "_", name.lower()).strip("_")
        if plain in _SHARE_COLUMNS:
            return index, _SHARE_COLUMNS[plain]
    return None


def delay_column(header: list[str]) -> int | None:
    """Return the index of the column whose falling values are rising load, if there is one."""
    names = [name.strip().lower() for name in header]
    return next((index for index, name in enumerate(names) if name in _DELAY_COLUMNS), None)


def _unit(name: str, quantity: str) -> str | None:
    """Return the unit in a header's `name`, "" if it has none, None if it is not `quantity`."""
    plain = name.strip().lower()
    if plain.endswith(_SPREADS):
        return None
    if not plain.startswith((quantity, {"bandwidth": "bw", "latency": "lat"}[quantity])):
        return None
    bracket = re.search(r"[\[(]\s*(.+?)\s*[\])]", name)
    if bracket:
        return bracket[1]
    _, _, tail = name.strip().partition("_")
    return tail if tail else ""


def _is_unit(unit: str, factor: object) -> bool:
    try:
        factor(unit)  # type: ignore[operator]
    except NearfarError:
        return False
    return True
