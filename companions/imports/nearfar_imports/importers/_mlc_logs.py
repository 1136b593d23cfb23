"""Runs of MLC's loaded latency: what was measured is read from the command line that MLC prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.devices.oddities import Point
from nearfar_imports.import_curve import check_point, rounded
from nearfar_imports.importers._figures import SOURCE, ImportedFigures, ImportOptions, text_of
from nearfar_imports.load_logs import LoadLog, Traffic, figures_of_logs

WRITES: dict[int, tuple[float, bool]] = {
    2: (0.6667, False),
    3: (0.75, False),
    4: (0.6, False),
    5: (0.5, False),
    6: (0.0, True),
    7: (0.6667, True),
    8: (0.5, True),
    9: (0.75, True),
    10: (0.6667, True),
    11: (0.75, False),
    12: (0.8, False),
    19: (0.9, False),
}
"""Read share and whether stores are non-temporal, by MLC's -W (its printed help; 19 since 3.11)."""

COMMAND = re.compile(r"Command line parameters:(.*)")
VERSION = re.compile(r"Memory Latency Checker.* - (v[\w.]+)")
BUFFER = re.compile(r"Using buffer size of (\S+?)/thread for reads")
SPAN = re.compile(r"(\d+)(?:-(\d+))?")
ROW = re.compile(r"\s*(\d{5})\s+(\d+\.\d+)\s+(\d+\.\d)\s*$")
NAMED = re.compile(r"(?:^|_)([cwrd])(\d+)(?=_|\.|$)")
"""Parts of a file's name that state its run: log_d0_c16_w5_r1 is node 0, 16 cores, -W5, random."""

LOW_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700)
DELAYS = (*LOW_DELAYS, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
"""Delays of a run that is given no list of its own, in its order; since version 3.5 at least."""

MAX_CPUS = 65536
"""Numbers from this one on are not numbers of CPUs."""


@dataclass(frozen=True)
class MlcCommand:
    """Settings of a run of MLC."""

    traffic: Traffic
    cores: int | None
    first_cpu: int | None
    latency_cpu: int
    memory: str
    text: str


def command_of(text: str) -> MlcCommand | None:
    """Return the run's settings from the command line in MLC's output; None: it has no such line.

    Raises NearfarError for a traffic type without a read share and for an invalid range of CPUs.
    """
    match = COMMAND.search(text)
    if match is None:
        return None
    options = [option for option in match[1].split() if option.startswith("-")]
    kinds = [option[2:] for option in options if re.fullmatch(r"-W\d+", option)]
    kind = int(kinds[-1]) if kinds else 0
    if kind and kind not in WRITES:
        raise NearfarError(f"MLC's traffic type -W{kind} is not a share of reads")
    share, non_temporal = WRITES.get(kind, (1.0, False))
    cpus = _cpus(options)
    return MlcCommand(
        traffic=(share, non_temporal, "random" if "-U" in options else "sequential"),
        cores=len(cpus) if cpus else None,
        first_cpu=min(cpus, default=None),
        latency_cpu=int(_value(options, "-c") or 0),
        memory=_value(options, "-j") or "",
        text=" ".join(options),
    )


def _value(options: list[str], name: str) -> str | None:
    values = [option[len(name) :] for option in options if option.startswith(name)]
    return next((value for value in values if value.isdigit()), None)


def _cpus(options: list[str]) -> list[int]:
    """Return the CPUs that -k or the mask -m names; raise NearfarError for an invalid range."""
    for option in options:
        if option.startswith("-k") and re.fullmatch(r"[\d,-]+", option[2:]):
            return [cpu for span in option[2:].split(",") if span for cpu in _span(span, option)]
        if re.fullmatch(r"-m(0x)?[0-9a-fA-F]+", option):
            mask = int(option[2:], 16)
            return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]
    return []


def _span(span: str, option: str) -> range:
    match = SPAN.fullmatch(span)
    first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not first <= last < MAX_CPUS:
        raise NearfarError(f"MLC's option {option} names no CPUs: expected such as -k0-15")
    return range(first, last + 1)


def _command_of_name(path: Path) -> MlcCommand | None:
    """Return the run's settings from a file's name such as log_d0_c16_w5_r1; None: another name."""
    named = {letter: int(number) for letter, number in NAMED.findall(path.name)}
    if named.get("w", -1) not in (0, *WRITES):
        return None
    share, non_temporal = WRITES.get(named["w"], (1.0, False))
    return MlcCommand(
        traffic=(share, non_temporal, "random" if named.get("r") else "sequential"),
        cores=named.get("c"),
        first_cpu=named.get("d"),
        latency_cpu=0,
        memory="",
        text="",
    )


def missing_delays(delays: Sequence[int]) -> str:
    """Return the end of a sentence if `delays` are only the first of MLC's list; else ""."""
    given = tuple(sorted(delays))
    if given == DELAYS or given != DELAYS[: len(given)]:
        return ""
    return (
        f"cut short: its last delay is {given[-1]}, and MLC's list ends at {DELAYS[-1]}, the "
        "lowest load"
    )


def log_of(path: Path) -> LoadLog:
    """Return the run in `path`; raises NearfarError for a file without whole rows or traffic."""
    text = text_of(path)
    points: list[tuple[int, Point]] = []
    for line, row in enumerate(text.splitlines(), start=1):
        if match := ROW.match(row):
            point = float(match[3]) / 1e3, float(match[2])
            check_point(f"{path}:{line}", point)
            points.append((int(match[1]), rounded(point)))
    if len(points) < 2:
        raise NearfarError(f"{path} has no rows of loaded latency: is it cut short?")
    if missing := missing_delays([delay for delay, _ in points]):
        raise NearfarError(f"{path} is {missing}: copy the whole output, or run MLC again")
    try:
        command = command_of(text) or _command_of_name(path)
    except NearfarError as error:
        raise NearfarError(f"{path}: {error}") from error
    if command is None:
        raise NearfarError(
            f"{path} does not state its traffic: neither MLC's command line nor a name such as "
            "log_d0_c16_w5_r1"
        )
    # The longest delay is the lowest load.
    points.sort(key=lambda row: -row[0])
    return LoadLog(
        name=path.name,
        traffic=command.traffic,
        points=tuple(point for _, point in points),
        cores=command.cores,
        path=f"CPUs {command.first_cpu}.. load, CPU {command.latency_cpu} times",
        memory=command.memory,
        settings=_settings(text),
        run=command.text,
    )


def _settings(text: str) -> str:
    parts = [pattern.search(text) for pattern in (VERSION, BUFFER)]
    return " with ".join(match[1] for match in parts if match)


def add_logs(
    logs: list[LoadLog], notes: list[str], paths: list[Path], options: ImportOptions
) -> ImportedFigures:
    """Return the figures of `logs`, read from `paths`, after `notes`."""
    try:
        imported = figures_of_logs(
            logs,
            SOURCE,
            options.how,
            shares=options.shares,
            max_points=options.max_points,
            memory=None if options.nodes is None else str(options.nodes[1]),
        )
    except NearfarError as error:
        if len(paths) > 1:
            raise
        raise NearfarError(f"{paths[0]}: {error}") from error
    imported.notes[:0] = notes
    return imported


def logs_of(paths: list[Path]) -> tuple[list[LoadLog], list[str]]:
    """Return the runs in `paths`, and notes on the files that hold none."""
    logs, refused = [], []
    for path in paths:
        try:
            logs.append(log_of(path))
        except NearfarError as error:
            refused.append(str(error))
    if not logs:
        raise NearfarError(refused[0])
    notes = [f"left out {len(refused)} of {len(paths)} files: {refused[0]}"] if refused else []
    return logs, notes
