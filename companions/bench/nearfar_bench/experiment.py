"""Experiments: read from TOML, checked key by key, changed from the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.files import read_bytes

SHIPPED = Path(__file__).parent / "experiments"

Scalar = str | int | float | bool
MAX_REPEATS = 10_000
"""Maximum number of rounds: the bootstrap draws 10,000 resamples, so more runs add nothing."""

KEYS = {
    "title": str,
    "kind": str,
    "imitates": str,
    "repeats": int,
    "latency": bool,
    "counts": bool,
    "arguments": dict,
    "matrix": dict,
    "leave_out": list,
    "compare": dict,
    "picture": dict,
}
PICTURE_KEYS = {"x": str, "y": str, "lines": list}


@dataclass(frozen=True)
class Experiment:
    """A workload with its arguments, as text for the executable."""

    name: str
    title: str
    kind: str
    imitates: str = ""
    repeats: int = 5
    latency: bool = True
    """Whether to measure percentiles in one more run of each cell."""
    counts: bool = True
    """Whether to count transactions, snapshots and flushes in one more run of each pool's cell."""
    arguments: dict[str, str] = field(default_factory=dict)
    matrix: dict[str, list[str]] = field(default_factory=dict)
    leave_out: list[dict[str, list[str]]] = field(default_factory=list)
    compare: dict[str, str] = field(default_factory=dict)
    picture: dict[str, Any] = field(default_factory=dict)


def names() -> list[str]:
    """Return the shipped experiments."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_experiment(name_or_file: str) -> Experiment:
    """Read a shipped experiment by name, or a file."""
    path = Path(name_or_file)
    if not path.is_file():
        if path.suffix == ".toml" or "/" in name_or_file:
            raise NearfarError(f"cannot read the experiment {path}: there is no such file")
        if name_or_file not in names():
            hint = nearest(name_or_file, names()) or f"; there are: {', '.join(names())}"
            raise NearfarError(f"there is no experiment {name_or_file!r}{hint}")
        path = SHIPPED / f"{name_or_file}.toml"
    try:
        content = tomllib.loads(read_bytes(path, "the experiment").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path} is not TOML: {error}") from error
    return _experiment(path, content)


def text(value: Scalar) -> str:
    """Return an argument as the executable reads it."""
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def changed(experiment: Experiment, settings: Sequence[str], repeats: int | None) -> Experiment:
    """Return the experiment with arguments replaced by ``key=value`` or ``key=a,b``."""
    arguments, matrix = dict(experiment.arguments), dict(experiment.matrix)
    for setting in settings:
        key, equals, given = setting.partition("=")
        if not equals or not key or not given:
            raise NearfarError(f"--set {setting}: write KEY=VALUE or KEY=A,B")
        values = _split(key, given)
        if key in matrix:
            # The key keeps its place: the table is in the order of the matrix.
            matrix[key] = values
        elif len(values) > 1:
            arguments.pop(key, None)
            matrix[key] = values
        else:
            arguments[key] = values[0]
    if repeats is not None and not 1 <= repeats <= MAX_REPEATS:
        raise NearfarError(f"--repeats {repeats}: it must be from 1 to {MAX_REPEATS}")
    return replace(
        experiment,
        arguments=arguments,
        matrix=matrix,
        repeats=experiment.repeats if repeats is None else repeats,
    )


def _split(key: str, given: str) -> list[str]:
    """Split at commas, but keep a memory's options (``tmpfs,msync``) with the memory."""
    values: list[str] = []
    for word in given.split(","):
        if key == "memory" and values and word in ("msync", "noflush"):
            values[-1] += f",{word}"
        else:
            values.append(word)
    if not all(values):
        raise NearfarError(f"--set {key}={given}: a value is empty")
    return values


def _experiment(path: Path, content: dict[str, Any]) -> Experiment:
    """Check the content of the file `path` and return its experiment."""
    _check_keys(path, content, KEYS, "")
    _check_keys(path, content.get("picture", {}), PICTURE_KEYS, "picture.")
    for key in ("title", "kind"):
        if key not in content:
            raise NearfarError(f"{path}: the key {key!r} is missing")
    matrix = {
        key: [_scalar(path, f"matrix.{key}", each) for each in _list(path, f"matrix.{key}", values)]
        for key, values in content.get("matrix", {}).items()
    }
    arguments = {
        key: _scalar(path, f"arguments.{key}", value)
        for key, value in content.get("arguments", {}).items()
    }
    for key in matrix.keys() & arguments.keys():
        raise NearfarError(f"{path} has {key!r} both in [arguments] and in [matrix]")
    compare = {
        key: _scalar(path, f"compare.{key}", value)
        for key, value in content.get("compare", {}).items()
    }
    for key in compare:
        if key not in matrix:
            hint = nearest(key, list(matrix))
            raise NearfarError(f"{path} compares {key!r}, which is not in its matrix{hint}")
    repeats = content.get("repeats", Experiment.repeats)
    if not 1 <= repeats <= MAX_REPEATS:
        raise NearfarError(f"{path}: repeats must be from 1 to {MAX_REPEATS}, not {repeats}")
    return Experiment(
        name=path.stem,
        title=content["title"],
        kind=content["kind"],
        imitates=content.get("imitates", ""),
        repeats=repeats,
        latency=content.get("latency", True),
        counts=content.get("counts", True),
        arguments=arguments,
        matrix=matrix,
        leave_out=_leave_out(path, content.get("leave_out", []), [*matrix, *arguments]),
        compare=compare,
        picture=content.get("picture", {}),
    )


def _leave_out(path: Path, blocks: list[Any], known: list[str]) -> list[dict[str, list[str]]]:
    """Return the combinations that are not run; refuse combinations of unknown arguments."""
    left_out = []
    for block in blocks:
        if not isinstance(block, dict):
            raise NearfarError(f"{path}: leave_out is a list of tables, [[leave_out]]")
        for key in block:
            if key not in known:
                raise NearfarError(
                    f"{path} leaves out by {key!r}, which is no argument of the experiment"
                    f"{nearest(key, known)}"
                )
        left_out.append(
            {
                key: [
                    _scalar(path, f"leave_out.{key}", each)
                    for each in (value if isinstance(value, list) else [value])
                ]
                for key, value in block.items()
            }
        )
    return left_out


def _check_keys(
    path: Path, content: Mapping[str, Any], valid: Mapping[str, type], where: str
) -> None:
    for key, value in content.items():
        if key not in valid:
            raise NearfarError(
                f"{path} has the unknown key {where + key!r}{nearest(key, list(valid))}"
            )
        wanted = valid[key]
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise NearfarError(f"{path}: {where}{key} must be of type {wanted.__name__}")


def _list(path: Path, key: str, values: Any) -> list[Any]:
    if not isinstance(values, list) or not values:
        raise NearfarError(f"{path}: {key} must be a list of values")
    return values


def _scalar(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str | int | float | bool):
        raise NearfarError(f"{path}: {key} must be a text or a number")
    return text(value)
