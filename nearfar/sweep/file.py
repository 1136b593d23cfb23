"""Read a sweep file: programs, blocks, and keys for all blocks.

An unknown key is refused; the error names the most similar valid key.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.files import read_bytes
from nearfar.points.kind import POINT_KINDS, PointKind


class ProgramText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One ``[programs.NAME]``: exactly one of command, profile and formulas."""

    command: str | None = None
    """As in a shell without pipes: ./btree --n {n} --seed {seed}."""
    profile: str | None = None
    """A file that `nearfar profile` wrote."""
    formulas: str | None = None
    """A TOML file of counts, as `nearfar predict` takes."""
    size: dict[str, Any] = {}
    """Axes of this program in every block: {n = [1e5, 1e6]}."""
    seed: int | list[int] | None = None
    folder: str = "."
    """Working folder."""
    environment: dict[str, str] = {}
    tracing: str | None = None
    """compiled, qemu or counters: how its profile is taken."""


@dataclass(frozen=True)
class SweepBlock:
    """One ``[[kind]]`` of the file."""

    kind: str
    number: int
    """Number among the blocks of its kind, from 1."""
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """The block's name in messages."""
        return f"[[{self.kind}]] {self.number}"


@dataclass(frozen=True)
class SweepFile:
    """The content of a sweep file."""

    path: Path
    text: str
    programs: dict[str, ProgramText]
    blocks: list[SweepBlock] = field(default_factory=list)


def keys_of(kind: type[PointKind]) -> list[str]:
    """Return the keys a block of this kind may have."""
    return [name for name in kind.__struct_fields__ if name not in kind.FILLED]


def read_sweep_file(path: Path) -> SweepFile:
    """Read the file and check its form; values are checked when points are made of them."""
    try:
        text = read_bytes(path, "the sweep file").decode()
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path} is not TOML: {error}") from error
    programs = _programs(path, content.pop("programs", {}))
    kinds = {name: POINT_KINDS.get(name) for name in POINT_KINDS.names()}
    common = {key: value for key, value in content.items() if key not in kinds}
    anywhere = sorted({key for kind in kinds.values() for key in keys_of(kind)})
    for key in common:
        if key not in anywhere:
            known = [*anywhere, *kinds, "programs"]
            raise NearfarError(
                f"{path}: unknown key {key!r} (blocks are "
                f"{', '.join(f'[[{name}]]' for name in kinds)}){nearest(key, known)}"
            )
    blocks: list[SweepBlock] = []
    for name, kind in kinds.items():
        listed = content.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise NearfarError(f"{path}: a block is written with two brackets: [[{name}]]")
        for number, block in enumerate(listed, 1):
            allowed = keys_of(kind)
            for key in block:
                if key not in allowed:
                    hint = nearest(key, allowed) or f"; there are: {', '.join(allowed)}"
                    raise NearfarError(f"{path}: [[{name}]] {number} has no key {key!r}{hint}")
            held = {key: value for key, value in common.items() if key in allowed}
            blocks.append(SweepBlock(name, number, {**held, **block}))
    if not blocks:
        raise NearfarError(
            f"{path} has no points: write a block such as [[simulate]] or [[predict]]"
        )
    return SweepFile(path, text, programs, blocks)


def _programs(path: Path, content: Any) -> dict[str, ProgramText]:
    if not isinstance(content, dict):
        raise NearfarError(f"{path}: programs are tables: [programs.NAME]")
    programs = {}
    for name, table in content.items():
        try:
            program = msgspec.convert(table, ProgramText)
        except msgspec.ValidationError as error:
            raise NearfarError(f"{path}: [programs.{name}]: {error}") from error
        given = [program.command, program.profile, program.formulas]
        if sum(item is not None for item in given) != 1:
            raise NearfarError(
                f"{path}: [programs.{name}] needs exactly one of command, profile and formulas"
            )
        if program.command is None and (program.environment or program.seed is not None):
            raise NearfarError(
                f"{path}: [programs.{name}] is not run: environment and seed need a command"
            )
        programs[name] = program
    return programs
