"""Run the cases of cases.toml, and compare what they print with what is kept in expected/.

Only the command line is used: the cases outlast any change inside.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
CLOSE = 1e-5
"""Relative difference of floats that another processor may leave: its sums round in another order,
a fit ends a step earlier, and differences of large times keep the error of these. Seen: 4e-7."""
NONE = 1e-6
"""Largest difference that counts as rounding."""
NONE_NS = 1e-5
"""The same of times that an object adds: differences of times of seconds, and a double holds 1e9 ns
to 1e-7."""
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
"""A float in a line of text."""
PRODUCER = {
    *("producer", "nearfar_version", "commit", "time_utc", "host", "kernel", "cpu_model", "cpu_id"),
    "command",
    "sha256",  # of inputs, some of which a case makes
}
"""Keys of facts about the run that made a document; a program's command is a list and stays."""
DATA_WITH_SPACES = {"name", "function", "object", "objects", "file", "cpu_model", "model", "id"}
"""Keys whose strings are data even if a space is in them."""
MAX_LINE = 600
TEXT = "<text>"

sys.path.insert(0, str(HERE.parent / "machines"))
from manifest import expand  # noqa: E402


def cases() -> dict[str, dict[str, Any]]:
    """Return name to case; a case has `run`, a command line or several, and how it is compared."""
    return tomllib.loads((HERE / "cases.toml").read_text())


def expected_path(name: str) -> Path:
    """Return where the expected output of a case is kept."""
    return EXPECTED / f"{name}.json"


def result(case: dict[str, Any]) -> Any:
    """Run a case in a folder of its own and return its normalised output."""
    with _folder(case.get("tree")) as folder:
        runs = [case["run"]] if isinstance(case["run"], str) else case["run"]
        codes, text = [], ""
        for line in runs:
            code, text = _nearfar(line)
            codes.append(code)
        wanted = case.get("exit", 0)
        if codes[-1] != wanted or any(codes[:-1]):
            raise AssertionError(f"exit codes {codes}, expected 0 and last {wanted}: {runs}")
        form = case.get("form", "json")
        if form == "dataset":
            return _rows(folder / case["output"], set(case["ignore"]))
        if "output" in case:
            text = (folder / case["output"]).read_text()
        answer = _normalised(text, form)
    for path in case.get("ignore", []):
        _leave_out(answer, path.split("/"))
    return answer


def written(value: Any, indent: str = "") -> str:
    """Return JSON in which what fits is on one line."""
    flat = json.dumps(value)
    if len(flat) <= MAX_LINE or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + " "
    if isinstance(value, list):
        parts = [inner + written(part, inner) for part in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    parts = [f"{inner}{json.dumps(key)}: {written(part, inner)}" for key, part in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def differences(is_: Any, was: Any, path: str = "") -> Iterator[str]:
    """Yield each place where a result differs from what is expected."""
    if isinstance(was, dict) and isinstance(is_, dict):
        for key in sorted(was.keys() | is_.keys()):
            if key not in is_:
                yield f"{path}/{key}: missing"
            elif key not in was:
                yield f"{path}/{key}: new"
            else:
                yield from differences(is_[key], was[key], f"{path}/{key}")
    elif isinstance(was, list) and isinstance(is_, list):
        if len(was) != len(is_):
            yield f"{path}: {len(is_)} values, expected {len(was)}"
            return
        for at, (new, old) in enumerate(zip(is_, was, strict=True)):
            yield from differences(new, old, f"{path}/{at}")
    elif not _same(is_, was, NONE_NS if "/added_ns/" in path else NONE):
        yield f"{path}: {is_!r}, expected {was!r}"


def _same(is_: Any, was: Any, none: float = NONE) -> bool:
    numbers = (int, float)
    if isinstance(was, bool) or isinstance(is_, bool):
        return is_ is was
    if isinstance(was, float) and isinstance(is_, numbers):
        close = math.isclose(is_, was, rel_tol=CLOSE, abs_tol=none)
        return close or (math.isnan(is_) and math.isnan(was))
    if isinstance(was, str) and isinstance(is_, str) and is_ != was:
        numbers_is, numbers_was = NUMBER.findall(is_), NUMBER.findall(was)
        return NUMBER.sub("#", is_) == NUMBER.sub("#", was) and all(
            _same(float(new), float(old)) for new, old in zip(numbers_is, numbers_was, strict=True)
        )
    return type(is_) is type(was) and is_ == was


@contextlib.contextmanager
def _folder(tree: str | None) -> Iterator[Path]:
    """Enter a temporary folder with the inputs, and a machine's tree as `root`."""
    before = Path.cwd()
    cache = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
        if tree:
            expand((HERE.parent / "machines" / f"{tree}.tree").read_text(), folder / "root")
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        try:
            yield folder
        finally:
            os.chdir(before)
            if cache is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = cache


def _nearfar(line: str) -> tuple[int, str]:
    from nearfar.__main__ import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(line))
    if code > 1:
        print(err.getvalue(), file=sys.stderr)
    return code, out.getvalue()


def _normalised(text: str, form: str) -> Any:
    if form == "json":
        return _without_prose(json.loads(text))
    if form == "schema":
        return [_inlined(schema := json.loads(text), schema["$defs"])]
    if form == "tags":  # of HTML and SVG, how many elements of each kind
        counts: dict[str, int] = {}
        for tag in re.findall(r"<([a-z][a-zA-Z0-9:]*)", text):
            counts[tag] = counts.get(tag, 0) + 1
        return dict(sorted(counts.items()))
    if form == "exports":  # lines that are neither comment nor producer
        left_out = re.compile(r"\s*(#|//|/?\*|$|\"(" + "|".join(PRODUCER) + r")\":)")
        lines = [line for line in text.splitlines() if not left_out.match(line)]
        quoted = re.compile(r"/\*.*?\*/|\"[^\"]* [^\"]*\"|'[^']* [^']*'")
        return [quoted.sub(TEXT, line) for line in lines]
    raise ValueError(form)


def _inlined(value: Any, defs: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """Return a schema with references resolved, without names of classes and descriptions."""
    if isinstance(value, list):
        return [_inlined(part, defs, inside) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(name := value.get("$ref"), str):
        name = name.removeprefix("#/$defs/")
        return "recursion" if name in inside else _inlined(defs[name], defs, (*inside, name))
    left_out = ("title", "description", "$defs")
    inlined = {k: _inlined(v, defs, inside) for k, v in value.items() if k not in left_out}
    if isinstance(properties := value.get("properties"), dict):  # their names may be "title"
        inlined["properties"] = {k: [_inlined(v, defs, inside)] for k, v in properties.items()}
    return inlined


def _rows(folder: Path, left_out: set[str]) -> Any:
    """Return the rows of a Parquet dataset, sorted, without the columns in `left_out`."""
    import pyarrow.dataset

    rows = pyarrow.dataset.dataset(folder).to_table().to_pylist()
    rows = [{k: v for k, v in row.items() if k not in left_out} for row in rows]
    rows = json.loads(json.dumps(rows, default=str))
    return _without_prose(sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)))


def _leave_out(value: Any, path: list[str]) -> None:
    """Remove what is at `path` from a document; * is every key."""
    for key in [path[0]] if path[0] != "*" else list(range(len(value))):
        at = int(key) if isinstance(value, list) else key
        if len(path) > 1:
            _leave_out(value[at], path[1:])
        else:
            del value[at]


def _without_prose(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {
            k: _without_prose(v, k)
            for k, v in value.items()
            if k not in PRODUCER or (k == "command" and isinstance(v, list))
        }
    if isinstance(value, list):
        return [_without_prose(part, key) for part in value]
    if isinstance(value, str) and " " in value and key not in DATA_WITH_SPACES:
        return TEXT
    return value
