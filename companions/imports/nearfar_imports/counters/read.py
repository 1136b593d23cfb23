"""Detects the format of a file of counters and reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from nearfar.base.errors import CommandError
from nearfar.base.files import read_bytes
from nearfar.documents.counters import CounterProfile
from nearfar_imports.counters import likwid, pcm, perf, plain

Format = Literal["perf", "pcm", "likwid", "csv"]


def read_counters(
    path: Path, form: Format | None = None, cumulative: bool = False
) -> CounterProfile:
    """Return the counters in `path`, of the format `form` or a detected one."""
    text = read_bytes(path, "counter file").decode("utf-8-sig", errors="replace")
    if not text.strip():
        raise CommandError(f"{path} is empty")
    kind = form or _detected(text)
    if cumulative and kind != "csv":
        raise CommandError(
            "--cumulative is for plain CSV only: perf, PCM and LIKWID write counts per interval"
        )
    if kind == "perf":
        return perf.read(path, text)
    if kind == "pcm":
        return pcm.read(path, text)
    if kind == "likwid":
        return likwid.read(path, text)
    return plain.read(path, text, cumulative)


def _detected(text: str) -> Format:
    lines = [line for line in text.splitlines() if line.strip()]
    head = lines[:4]
    if any(line.startswith(("TABLE,", "STRUCT,", "# GID")) for line in head):
        return "likwid"
    if any(line.startswith(("Date,Time", "Date;Time")) for line in head):
        return "pcm"
    words = re.split(r"[,;\t]", head[0])
    if any(word.strip().lower() in plain.TIMES for word in words):
        return "csv"
    return "perf"
