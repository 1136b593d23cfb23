"""The list of the study `population`, and its inputs, which are written on demand."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

import msgspec
import numpy as np

from nearfar.base.files import atomic_path

LIST = Path(__file__).parent / "programs" / "population" / "population.toml"
VOCABULARY = 20_000
"""Number of different words in a text."""

FIELD = re.compile(r"%([iwfsg]|r\d+)%")
PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


class SlowBytes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input of random bytes behind a header, each byte close to the previous one."""

    head: str
    bytes: int


Recipe = SlowBytes | list[tuple[int, str]]
"""An input: slow bytes, or numbers of lines with their templates."""


class PopulationProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program and its command."""

    name: str
    package: str
    kind: str
    command: list[str]
    duration: Literal["short", "medium", "long"]
    driver: str = ""
    exits: list[int] = []
    """Exit statuses other than 0 that are no failure."""

    def words(self, paths: Mapping[str, Path]) -> tuple[list[str], str]:
        """Return command and driver with the paths of their inputs."""
        filled = [
            PLACEHOLDER.sub(lambda match: str(paths.get(match[1], match[0])), text)
            for text in (*self.command, self.driver)
        ]
        return filled[:-1], filled[-1]


class PopulationList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Programs, inputs and memories, fixed before any run."""

    machine: str
    near: str
    llc_bytes: int
    memories: dict[str, str]
    """Device of the library by published memory."""
    programs: list[PopulationProgram]
    inputs: dict[str, Recipe]
    notes: list[str] = []

    def inputs_of(self, program: PopulationProgram) -> dict[str, Recipe]:
        """Return the inputs that a program's command and driver name."""
        named = PLACEHOLDER.findall(" ".join((*program.command, program.driver)))
        return {name: self.inputs[name] for name in named if name != "scratch"}

    def digest(self, program: PopulationProgram) -> str:
        """Return a digest of a program, its inputs and the cache for which it is profiled."""
        parts = [program, self.inputs_of(program), self.llc_bytes]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def read_list(path: Path = LIST) -> PopulationList:
    """Return a list of programs."""
    return msgspec.toml.decode(path.read_bytes(), type=PopulationList)


def write_input(name: str, recipe: Recipe, folder: Path) -> Path:
    """Return the file of an input; the same recipe always gives the same bytes."""
    path = folder / hashlib.sha256(msgspec.json.encode(recipe)).hexdigest()[:12] / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draw = Random(name)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            if isinstance(recipe, SlowBytes):
                steps = np.frombuffer(draw.randbytes(recipe.bytes), np.uint8) % 9 - np.uint8(4)
                file.write(recipe.head.encode() + np.cumsum(steps, dtype=np.uint8).tobytes())
            else:
                file.writelines(line.encode() for line in _lines(recipe, draw))
    return path


def _lines(recipe: list[tuple[int, str]], draw: Random) -> Iterator[str]:
    for count, template in recipe:
        parts = FIELD.split(template)
        for number in range(1, count + 1):
            values = (_value(field, number, draw) for field in parts[1::2])
            yield "".join(text + next(values, "\n") for text in parts[::2])


def _value(field: str, number: int, draw: Random) -> str:
    match field[0]:
        case "i":
            return str(number)
        case "w":  # Zipf's law: the logarithm of a rank is uniform
            return _words()[int(VOCABULARY ** draw.random()) - 1]
        case "f":
            return f"{draw.random():.6f}"
        case "s":
            return "-" if draw.random() < 0.5 else ""
        case "g":
            return "".join("ACGT"[int(4 * draw.random())] for _ in range(60))
        case _:
            return str(1 + int(int(field[1:]) * draw.random()))


@cache
def _words() -> list[str]:
    draw, letters = Random("words"), "etaoinshrdlcumwfgypbvkjxqz"
    return [
        "".join(letters[int(26 ** draw.random()) - 1] for _ in range(2 + int(9 * draw.random())))
        for _ in range(VOCABULARY)
    ]
