"""MLC's options: the value, the modes and the meaning of each.

Help, parser and refusals come from this table; a test compares `docs/like.md` with it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

MODES = (
    "latency_matrix",
    "bandwidth_matrix",
    "peak_injection_bandwidth",
    "max_bandwidth",
    "idle_latency",
    "loaded_latency",
    "c2c_latency",
    "memory_bandwidth_scan",
)
BARE = (
    *("latency_matrix", "peak_injection_bandwidth", "bandwidth_matrix", "loaded_latency"),
    "c2c_latency",
)
"""Modes of a run without a mode, in MLC's order."""

_GROUPS: dict[str, frozenset[str]] = {
    **{mode: frozenset({mode}) for mode in MODES},
    "latency": frozenset({"latency_matrix", "idle_latency", "loaded_latency"}),
    "bandwidth": frozenset(
        {"bandwidth_matrix", "peak_injection_bandwidth", "max_bandwidth", "loaded_latency"}
    ),
    "loaded": frozenset({"loaded_latency"}),
    "idle": frozenset({"idle_latency"}),
    "scan": frozenset({"memory_bandwidth_scan"}),
    "all": frozenset(MODES),
    "memory": frozenset(MODES) - {"c2c_latency"},
    "memory without scan": frozenset(MODES) - {"c2c_latency", "memory_bandwidth_scan"},
}

Takes = Literal["", "size", "number", "cpus", "mask", "file", "folder", "type", "switch"]
"""Kind of value; switch: 0, 1 or no value."""


class MlcOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option of MLC."""

    modes: frozenset[str]
    meaning: str
    letter: str = ""
    takes: Takes = ""
    refused: str = ""
    """Why nearfar refuses the option and what to do; empty: it does not."""
    elsewhere: bool = False
    """Whether the option is accepted with a note in other modes, where it changes nothing."""


def _options() -> dict[str, MlcOption]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    for letter, row in rows.items():
        groups = row["modes"].split(", ")
        row |= {"letter": letter, "modes": frozenset().union(*(_GROUPS[name] for name in groups))}
    return msgspec.convert(rows, dict[str, MlcOption])


OPTIONS = _options()
