"""`perf stat -x, [-I MS] [-A | --per-socket ...]`: perf-stat(1), "CSV FORMAT"."""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.counters import CounterProfile
from nearfar_imports.counters.names import quantity
from nearfar_imports.counters.sums import CounterSums

_CPU_OR_SOCKET = re.compile(r"(?:CPU\d+|S\d+(?:-D\d+)?(?:-C\d+)?(?:-T\d+)?|N\d+|D\d+)$")
"""Field that -A, --per-socket, --per-core and --per-node add after the time."""
_UNCOUNTED = ("<not counted>", "<not supported>")


def read(path: Path, text: str) -> CounterProfile:
    """Read perf's lines and add up the counts of all CPUs or sockets."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if lines and lines[0].lstrip().startswith("{"):
        raise CommandError(f"{path} is JSON of perf stat -j: write it with -x, instead")
    if any("Performance counter stats for" in line for line in lines[:3]):
        raise CommandError(f"{path} is perf stat's text for people: write it with -x,")
    separator = _separator(lines)
    sums = CounterSums(path, "perf")
    clock_ns = before_s = 0.0
    for number, line in enumerate(lines, 1):
        fields = [word.strip() for word in line.split(separator)]
        if separator != ",":
            fields = [re.sub(r"^(\d+),(\d+)$", r"\1.\2", word) for word in fields]
        end_s, fields = _time(fields, path, number)
        if end_s is not None and end_s < before_s:
            raise CommandError(
                f"{path}, line {number}: time goes back from {before_s:g} to {end_s:g} s: several "
                "runs in one file? Import each by itself"
            )
        before_s = end_s or before_s
        if fields and _CPU_OR_SOCKET.match(fields[0]):
            # -A writes only the place; the other options also the number of CPUs added up.
            fields = fields[1:] if fields[0].startswith("CPU") else fields[2:]
        if len(fields) < 3 or not fields[0]:
            continue  # a metric that perf computed
        value, unit, event = fields[:3]
        if len(fields) > 3 and re.fullmatch(r"[\d.]+%", fields[3]):
            del fields[3]  # -r: spread of the repetitions; counts and time are means
        share = _number(fields[4]) if len(fields) > 4 else None
        known = quantity(event, unit)
        if value == "<not supported>":
            sums.unsupported.add(event)
            continue
        if known is None:
            continue
        name, factor = known
        if value in _UNCOUNTED:
            sums.add_missing(end_s or 0.0, name, event)
            continue
        count = _number(value)
        if count is None:
            raise CommandError(
                f"{path}, line {number}: {value!r} is no count; was it written by perf stat -x,?"
            )
        clock_ns = max(clock_ns, _number(fields[3]) or 0.0)
        sums.add(end_s or 0.0, name, event, count * factor)
        if share is not None and share < 100 and sums.belongs(name, event):
            sums.add_scaled(name, share / 100)
    if list(sums.counts) == [0.0]:
        # Without -I there is one interval, as long as the counters were on.
        sums.counts = {clock_ns / 1e9: sums.counts[0.0]}
        sums.warnings.append(
            "counted without -I: the interval's length is the time that the counters ran"
        )
    return sums.finish()


def _separator(lines: list[str]) -> str:
    for separator in (",", ";", "\t", "|"):
        if lines and lines[0].count(separator) >= 4:
            return separator
    return ","


def _time(fields: list[str], path: Path, number: int) -> tuple[float | None, list[str]]:
    """Return the time that -I writes first (None without -I) and the other fields.

    A time has six to nine decimals; no count has so many.
    """
    first = fields[0] if fields else ""
    if re.fullmatch(r"\d+\.\d{6,9}", first):
        return float(first), fields[1:]
    if first == "" and len(fields) < 4:
        raise CommandError(f"{path}, line {number}: not a line of perf stat -x,")
    return None, fields


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
