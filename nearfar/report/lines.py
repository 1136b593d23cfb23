"""The source lines with most misses, with their text if the file can be read now."""

from __future__ import annotations

import datetime
from pathlib import Path

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Phase
from nearfar.report.data import TOTAL, Live, LiveSeries, SourceLine
from nearfar.report.labels import label

MAX_LINES = 40
"""Lines per phase; `share` shows their part of the total."""
CONTEXT_LINES = 2
"""Lines of text shown before and after."""
MAX_SOURCE_BYTES = 8 << 20
"""Size above which a file is not hand-written source text."""
SOURCE_SUFFIXES = (
    *(".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp"),
    *(".tcc", ".def", ".l", ".y", ".rs", ".f", ".f90", ".m", ".mm", ".go", ".zig", ".d", ".cu"),
)
"""Only these are read: a profile from elsewhere may name any file, and its text is published."""

Key = tuple[str, int, str, str, str]


def source_lines(
    profile: WorkloadProfile, position: dict[int, int], folders: list[Path]
) -> list[SourceLine]:
    """Return the lines with most misses of each phase and of the whole run, most first."""
    texts = SourceTexts(folders, profile.producer.time_utc)
    rows: list[SourceLine] = []
    groups = [(TOTAL, profile.phases), *((phase.name, [phase]) for phase in profile.phases)]
    for name, phases in groups:
        rows += _rows(profile, name, phases, position, texts)
    return rows


def _rows(
    profile: WorkloadProfile,
    name: str,
    phases: list[Phase],
    position: dict[int, int],
    texts: SourceTexts,
) -> list[SourceLine]:
    all_misses = sum(row.traffic.misses() for phase in phases for row in phase.objects)
    by_line: dict[Key, dict[int, float]] = {}
    for phase in phases:
        for row in phase.instructions:
            what = profile.instructions[row.instruction]
            key: Key = (what.file, what.line, what.function, what.operation, what.access_class)
            objects = by_line.setdefault(key, {})
            where = position[row.object]
            objects[where] = objects.get(where, 0.0) + row.misses
    totals = {key: sum(objects.values()) for key, objects in by_line.items()}
    missing = [key for key in totals if totals[key] > 0.0]
    most = sorted(missing, key=lambda key: (-totals[key], key))[:MAX_LINES]
    rows = []
    for key in most:
        file, line, function, operation, access_class = key
        text, note = texts.around(file, line)
        rows.append(
            SourceLine(
                phase=name,
                file=file,
                line=line,
                function=function,
                function_label=label(function),
                operation=operation,
                access_class=access_class,
                misses=totals[key],
                share=totals[key] / all_misses if all_misses > 0 else 0.0,
                objects=sorted(by_line[key].items(), key=lambda item: (-item[1], item[0])),
                text=text,
                text_note=note,
            )
        )
    return rows


class SourceTexts:
    """Source files, each read once, from the named path or from `folders`."""

    def __init__(self, folders: list[Path], profiled_utc: str) -> None:
        self._folders = folders
        self._files: dict[str, tuple[list[str], str]] = {}
        try:
            self._profiled = datetime.datetime.fromisoformat(profiled_utc).timestamp()
        except ValueError:
            self._profiled = float("inf")

    def around(self, file: str, line: int) -> tuple[list[tuple[int, str]], str]:
        """Return numbered lines around `line`, and a note if text is missing or may not match."""
        if file not in self._files:
            self._files[file] = self._read(file)
        lines, note = self._files[file]
        if not lines:
            return [], note
        if line < 1:
            return [], "the compiler merged lines here: no single line is known"
        if line > len(lines):
            return [], f"the file has {len(lines)} lines now: it is not the version that ran"
        first = max(1, line - CONTEXT_LINES)
        last = min(len(lines), line + CONTEXT_LINES)
        return [(number, lines[number - 1][:400]) for number in range(first, last + 1)], note

    def _read(self, file: str) -> tuple[list[str], str]:
        if not file:
            return [], "compiled without debug information (-g): no file is known"
        if Path(file).suffix.lower() not in SOURCE_SUFFIXES:
            return [], "not shown: the name does not end like a source file's"
        for path in self._candidate_paths(file):
            try:
                if not path.is_file() or path.stat().st_size > MAX_SOURCE_BYTES:
                    continue
                text = path.read_text(errors="replace")
                changed = path.stat().st_mtime > self._profiled
            except (OSError, ValueError):
                continue
            note = "the file has changed since the run: the line may not match" if changed else ""
            return text.splitlines(), note
        return [], "the file was not found: name its folder with --sources"

    def _candidate_paths(self, file: str) -> list[Path]:
        """Return the paths where `file` may be, in the order to try.

        Each folder is joined with `file` without 0, 1, 2, ... of its leading parts, as `patch -p`
        does. The path as named is last.
        """
        path = Path(file)
        parts = path.parts[1:] if path.is_absolute() else path.parts
        inside = [
            folder.joinpath(*parts[skip:])
            for folder in self._folders
            for skip in range(len(parts))
            if ".." not in parts[skip:]
        ]
        return [*inside, path]


MAX_SERIES = 7
"""Series with their own colour: more than seven and "other" cannot be distinguished."""


def live(profile: WorkloadProfile, position: dict[int, int]) -> Live:
    """Return live bytes over time by object, largest peak first, the other objects' sum last."""
    samples = sorted(profile.live, key=lambda sample: sample.time_ns)
    peaks: dict[str, int] = {}
    for sample in samples:
        for key, size in sample.bytes_by_object.items():
            peaks[key] = max(peaks.get(key, 0), size)
    known = [key for key in peaks if key.isdigit() and int(key) in position]
    shown = sorted(known, key=lambda key: (-peaks[key], int(key)))[:MAX_SERIES]
    series = [
        LiveSeries(
            object=position[int(key)],
            name=label(profile.objects[position[int(key)]].name),
            bytes=[sample.bytes_by_object.get(key, 0) for sample in samples],
        )
        for key in shown
    ]
    rest = [
        sum(size for key, size in sample.bytes_by_object.items() if key not in shown)
        for sample in samples
    ]
    if any(rest):
        series.append(LiveSeries(object=None, name="other objects", bytes=rest))
    return Live(
        time_ns=[sample.time_ns for sample in samples],
        phases=[sample.phase for sample in samples],
        series=series,
    )
