"""Expand a sweep file to points: combine lists, add programs' sizes, put profiles first."""

from __future__ import annotations

import hashlib
import itertools
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import msgspec

from nearfar.base.digest import digest_of
from nearfar.base.errors import NearfarError, nearest
from nearfar.points.inputs import CODE, POINT, PROFILE, InputReader
from nearfar.points.kind import POINT_KINDS, PointKind
from nearfar.points.kinds.profile import ProfilePoint
from nearfar.predict.code_file import find_code
from nearfar.sweep.file import ProgramText, SweepBlock, SweepFile
from nearfar.sweep.versions import version_of

MOST_POINTS = 10_000_000
"""A matrix of more was not meant: ten million predictions of a millisecond are three hours."""

SEEDS = range(-(2**63), 2**63)
"""A column of 64-bit integers holds them; what a kind refuses beyond that is its own."""


class SweepPoint(msgspec.Struct, frozen=True, gc=False):
    """One thing to compute."""

    # Python's search for cyclic garbage would visit a million of them again and again.
    id: str
    kind: str
    parameters: bytes
    """JSON of its fields."""
    needs: tuple[str, ...]
    measured: bool


@dataclass
class Matrix:
    """All points of a sweep, each once; a point comes after the points that it reads."""

    points: dict[str, SweepPoint] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def expand(file: SweepFile, reader: InputReader) -> Matrix:
    """Return all points; raises NearfarError for an invalid point, before anything runs."""
    matrix = Matrix()
    total = sum(_count(block, file) for block in file.blocks)
    if total > MOST_POINTS:
        raise NearfarError(f"{file.path}: {total:,} points are more than {MOST_POINTS:,}")
    made = _PointMaker(file, reader, matrix)
    for block in file.blocks:
        for values in _combinations(block, file):
            made.add(block, values)
    return matrix


def _axes(block: SweepBlock, file: SweepFile, program: str | None) -> dict[str, list[Any]]:
    axes = {key: _listed(block, key, value) for key, value in block.values.items()}
    if program is not None:
        axes["program"] = [program]
        program_text = file.programs.get(program)
        if program_text is not None and program_text.command is not None:
            # A program's own sizes and seeds apply unless the block gives some.
            if program_text.size and "size" not in block.values:
                axes["size"] = _tables(program_text.size)
            if program_text.seed is not None and "seed" not in block.values:
                axes["seed"] = (
                    program_text.seed
                    if isinstance(program_text.seed, list)
                    else [program_text.seed]
                )
        elif program_text is not None and program_text.size and "size" not in block.values:
            axes["size"] = _tables(program_text.size)
    return axes


def _combinations(block: SweepBlock, file: SweepFile) -> Iterator[dict[str, Any]]:
    for program in _programs_of(block):
        axes = _axes(block, file, program)
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))


def _count(block: SweepBlock, file: SweepFile) -> int:
    total = 0
    for program in _programs_of(block):
        product = 1
        for values in _axes(block, file, program).values():
            product *= len(values)
        total += product
    return total


def _programs_of(block: SweepBlock) -> list[Any]:
    value = block.values.get("program")
    return value if isinstance(value, list) else [value]


def _listed(block: SweepBlock, key: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        if not value:
            raise NearfarError(f"{block.name}: {key} is an empty list: there would be no points")
        return [item for part in value for item in _listed(block, key, part)]
    return _tables(value) if isinstance(value, dict) else [value]


def _tables(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a table for every combination of values from the lists of `table`."""
    values = [value if isinstance(value, list) else [value] for value in table.values()]
    return [dict(zip(table, item, strict=True)) for item in itertools.product(*values)]


class _PointHead(NamedTuple):
    """The part of a point that others of its kind with the same inputs have too."""

    text: bytes
    """Hashed before the point's parameters."""
    needs: tuple[str, ...]


class _PointMaker:
    """Makes points and adds each of them to the matrix once."""

    def __init__(self, file: SweepFile, reader: InputReader, matrix: Matrix) -> None:
        self._file, self._reader, self._matrix = file, reader, matrix
        self._inputs = reader.inputs()
        self._encoder = msgspec.json.Encoder(order="sorted")
        self._sources: dict[Any, str] = {}
        self._heads: dict[tuple[str, tuple[str, ...]], _PointHead] = {}

    def add(self, block: SweepBlock, values: dict[str, Any]) -> None:
        kind = POINT_KINDS.get(block.kind)
        try:
            if "program" in kind.__struct_fields__:
                values |= self._of_program(kind, values)
            self._add(msgspec.convert(values, kind))
        except msgspec.ValidationError as error:
            raise NearfarError(
                f"{self._file.path}: {block.name}: {error}; its keys: {_shown(values)}"
            ) from error
        except NearfarError as error:
            raise NearfarError(
                f"{self._file.path}: {block.name}: {error}; the point: {_shown(values)}",
                error.exit_code,
            ) from error

    def _add(self, described: PointKind) -> str:
        seed = getattr(described, "seed", None)
        if seed is not None and seed not in SEEDS:
            raise NearfarError(f"a seed is a number of 64 bits with its sign, not {seed}")
        head = self._head(described)
        described.check(self._inputs)
        parameters = self._encoder.encode(described)
        point = digest_of(head.text + parameters)
        if point not in self._matrix.points:
            self._matrix.points[point] = SweepPoint(
                point, described.NAME, parameters, head.needs, described.MEASURED
            )
        return point

    def _head(self, described: PointKind) -> _PointHead:
        """Return the part that others have too, after reading its inputs."""
        needs = tuple(described.needs())
        kind = described.NAME
        head = self._heads.get((kind, needs))
        if head is None:
            for name in needs:
                self._reader.read(name)
            if kind not in self._matrix.versions:
                self._matrix.versions[kind] = version_of(described.CODE)
            digests = ",".join(self._inputs.digest(name) for name in needs)
            text = f"{kind} {self._matrix.versions[kind]} {digests} ".encode()
            head = self._heads[kind, needs] = _PointHead(text, needs)
        return head

    def _of_program(self, kind: type[PointKind], values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that ``[programs]`` fills."""
        name = values.get("program")
        if not isinstance(name, str) or name not in self._file.programs:
            known = list(self._file.programs)
            hint = nearest(str(name), known) or "; programs are tables: [programs.NAME]"
            raise NearfarError(f"there is no program {name!r}{hint}")
        program_text = self._file.programs[name]
        if "command" in kind.FILLED:
            return self._commanded(program_text, name, values)
        if program_text.command is not None:
            return {"source": self._profiled(program_text, name, values)}
        if values.get("seed") is not None:
            raise NearfarError(f"program {name!r} is not run, so it has no seed")
        if program_text.formulas is not None:
            path = self._reader.path(program_text.formulas)
            formulas = path if path.is_file() else find_code(Path(program_text.formulas))
            return {"source": CODE + str(path if formulas is None else formulas.absolute())}
        if values.get("size"):
            raise NearfarError(
                f"program {name!r} has a profile, which was taken at one size: leave out size, or "
                "give it a command in its place"
            )
        return {"source": f"{PROFILE}{program_text.profile}"}

    def _commanded(
        self, program_text: ProgramText, name: str, values: dict[str, Any]
    ) -> dict[str, Any]:
        if program_text.command is None:
            raise NearfarError(f"program {name!r} has no command, so it cannot be run")
        folder = str(self._reader.path(program_text.folder).absolute())
        command = command_of(
            program_text.command, name, values.get("size") or {}, values.get("seed")
        )
        return {
            "command": command,
            "folder": folder,
            "environment": program_text.environment,
            "files": digests_of(command, folder),
        }

    def _profiled(self, program_text: ProgramText, name: str, values: dict[str, Any]) -> str:
        """Add the point that profiles the program; return the name of its document."""
        size, seed = values.get("size") or {}, values.get("seed")
        key = (name, tuple(size.items()), seed, values.get("near"))
        if key not in self._sources:
            wanted = {"program": name, "near": values.get("near"), "size": size, "seed": seed}
            wanted |= {"tracing": program_text.tracing} | self._commanded(
                program_text, name, wanted
            )
            self._sources[key] = POINT + self._add(msgspec.convert(wanted, ProfilePoint))
        return self._sources[key]


def _shown(values: dict[str, Any]) -> str:
    hidden = ("source", "command", "folder", "environment", "files")
    return ", ".join(f"{key} = {value!r}" for key, value in values.items() if key not in hidden)


HASHED_BYTES = 256 << 20
"""Larger files among arguments, such as databases, go by size and time of change: reading them for
every sweep would take longer than many points."""


def command_of(
    text: str, program: str, size: Mapping[str, float | str], seed: int | None
) -> list[str]:
    """Return the words of the command; raises if a name is missing or unused."""
    names = dict(size) if seed is None else {**size, "seed": seed}
    try:
        asked = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise NearfarError(
            f"cannot read the command of {program!r}: {error}; write {{{{ for a brace"
        ) from error
    if missing := sorted(asked - set(names)):
        given = f"; {', '.join(sorted(names))} are known" if names else ""
        raise NearfarError(
            f"the command of {program!r} has {{{missing[0]}}}, and no size of that name{given}"
            f"{nearest(missing[0], sorted(names))}: write size = {{ {missing[0]} = ... }}"
        )
    unused = sorted(set(size) - asked)
    if unused:
        raise NearfarError(
            f"size {unused[0]!r} is not in the command of {program!r}: write {{{unused[0]}}} there"
        )
    filled = {name: _text(value) for name, value in names.items()}
    words = [word.format_map(filled) for word in shlex.split(text)]
    if not words:
        raise NearfarError(f"the command of {program!r} is empty")
    return words


def _text(value: float | str) -> str:
    """Return 1e6 as 1000000: programs read counts."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


def digests_of(command: list[str], folder: str) -> dict[str, str]:
    """Return a digest of the executable and of every argument that is a file."""
    executable = shutil.which(str(Path(folder) / command[0])) or shutil.which(command[0])
    if executable is None:
        raise NearfarError(f"there is no program {command[0]!r} in {folder}, nor on PATH")
    digests = {command[0]: _digest(executable)}
    for word in command[1:]:
        path = Path(folder) / word
        try:
            if path.is_file():
                digests[word] = _digest(str(path))
        except OSError:  # A word too long to be a file's name.
            continue
    return digests


def _digest(path: str) -> str:
    status = Path(path).stat()
    return _digest_at(path, status.st_size, status.st_mtime_ns)


@lru_cache(4096)
def _digest_at(path: str, size_bytes: int, changed_ns: int) -> str:
    if size_bytes > HASHED_BYTES:
        return f"{size_bytes}@{changed_ns}"
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise NearfarError(f"cannot read {path}: {error.strerror}") from error
