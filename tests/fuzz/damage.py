"""Damages documents at random, and runs the verbs that read them.

A damaged document is one that a person edited, another tool wrote or a disk cut short. Each verb
must answer it with a result or with one sentence, and must not pass terminal escapes on.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shlex
import shutil
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INPUTS = Path(__file__).parents[1] / "golden" / "inputs"
EXIT_CODES = {0, 1, 2, 3, 4, 5}
NEAR_FAR = "--near near.json --far cxl-e3s-x8"
READERS = {
    "lookup.json": [
        f"predict lookup.json {NEAR_FAR} --models all --json",
        f"predict lookup.json {NEAR_FAR} --explain -",
        "predict lookup.json --on cxl-dmsim --near-time 36s --threads 2 --far cxl-asic-dmsim",
        f"place lookup.json {NEAR_FAR} --budget 25%",
        f"report lookup.json {NEAR_FAR} -o page.html",
        "compare lookup.json lookup-wide.json",
        "merge lookup.json lookup-wide.json --edited -o merged.json",
        f"fleet lookup.json redis.json {NEAR_FAR}",
    ],
    "flushing.json": [f"predict flushing.json {NEAR_FAR}", "compare flushing.json flushing.json"],
    "hash-8000.json": [
        "scale hash-4000.json hash-8000.json hash-16000.json --to n=64000 --force",
        f"place hash-8000.json hash-32000.json {NEAR_FAR} --budget 25% --over worst",
    ],
    "near.json": [
        "predict lookup.json --near near.json --far cxl-e3s-x8",
        "place lookup.json --near near.json --far optane-100-6dimm --budget 25%",
        "device show near.json",
        "device compare near.json optane-200",
        "device plot near.json -o plot.svg",
        "simulate --device near.json --pattern random --region 1MiB --json",
    ],
    "validation.json": [
        "validate --pool validation.json",
        "compare validation.json validation.json",
    ],
    "plan.json": [
        "place plan.json --export json --map near=node:0 --map far=node:1",
        f"report lookup.json {NEAR_FAR} --plan plan.json -o page.html",
        "compare plan.json plan.json",
    ],
    "prediction.json": ["compare prediction.json prediction.json"],
    "counters.json": [f"predict counters.json {NEAR_FAR}"],
}
"""Document to the command lines that read it."""
PREPARE = (
    f"place lookup.json {NEAR_FAR} --budget 25% -o plan.json",
    f"predict lookup.json {NEAR_FAR} -o prediction.json",
    "counters import constructed-perf.csv -o counters.json",
)
NUMBERS = (-1, 0, -5.5, 1e24, 1e308, 2**63, 1e-300, 0.5, 3, None, True)
TEXTS = ("", "\x1b[31mred", "a\x00b\r\nc", "<b>&", "x" * 5000, "\u202e", "no such", 7)
DEEP = '"deeply nested"'
"""Stands for 10,000 nested arrays, which Python's json could not write."""
WRAPPED = ("[]", "{}", "[[]]", '{"": 0}')


@dataclass(frozen=True)
class Failure:
    """A wrong answer of a verb: the seed, the line and the damage that led to it."""

    seed: int
    line: str
    damage: str
    problem: str


def folder_of_inputs(folder: Path) -> Path:
    """Fill `folder` with documents of every kind, and return it."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder):
        for line in PREPARE:
            code, _, text, _ = run(line)
            assert code == 0, f"{line}: {text}"
    return folder


def run(line: str) -> tuple[int, str, str, str]:
    """Return exit code, standard output, standard error and the traceback, if any."""
    from nearfar.__main__ import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                code = main(shlex.split(line))
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = [
                f"{Path(f.filename).name}:{f.lineno}" for f in frames if "nearfar/" in f.filename
            ]
            text = f"{type(error).__name__} at {' '.join(where[-2:])}: {error}"
            return -1, out.getvalue(), err.getvalue(), text
    return code, out.getvalue(), err.getvalue(), ""


def failure(folder: Path, seed: int) -> Failure | None:
    """Damage the document that `seed` chooses, run a verb on it, and judge the answer."""
    rng = random.Random(seed)
    name = rng.choice(sorted(READERS))
    line = rng.choice(READERS[name])
    whole = (folder / name).read_bytes()
    damaged, damage = _damaged(whole, rng)
    try:
        with contextlib.chdir(folder):
            Path(name).write_bytes(damaged)
            code, out, err, raised = run(line)
    finally:
        (folder / name).write_bytes(whole)
    problem = raised or _problem(code, out, err)
    return Failure(seed, line, f"{name}: {damage}", problem) if problem else None


def _problem(code: int, out: str, err: str) -> str:
    if code not in EXIT_CODES:
        return f"exit code {code}"
    for stream in (out, err):
        if any(ch != "\n" and not ch.isprintable() and ch.isascii() for ch in stream):
            return f"a control character reaches the terminal: {stream!r:.300}"
    if code and not out and not err.strip():
        return f"exit code {code} without a word"
    return ""


def _damaged(whole: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return the damaged bytes, and the damage in words."""
    kind = rng.random()
    if kind < 0.03:
        at = rng.randrange(len(whole))
        return whole[:at], f"cut after {at} bytes"
    if kind < 0.06:
        at = rng.randrange(len(whole))
        return whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :], f"byte {at} changed"
    document = json.loads(whole)
    changes = [_change(document, rng) for _ in range(rng.choice((1, 1, 1, 2, 5)))]
    text = json.dumps(document).replace(DEEP, "[" * 10_000 + "]" * 10_000)
    return text.encode(), "; ".join(changes)


def _change(document: Any, rng: random.Random) -> str:
    """Change one value somewhere in the document, and say which."""
    at, key, parent = _place(document, rng)
    was = parent[key]
    how = rng.random()
    if how < 0.06:
        del parent[key]
        return f"{at} removed"
    if how < 0.09:
        parent[key] = rng.choice((None, None, None, "deeply nested"))
    elif how < 0.12 and isinstance(parent, dict):
        parent["surprise"] = was
        return f"{at}: unknown key beside"
    elif isinstance(was, bool) or was is None:
        parent[key] = rng.choice((True, False, None, 1, "x"))
    elif isinstance(was, int | float):
        parent[key] = rng.choice((*NUMBERS, was * 1e6, -was))
    elif isinstance(was, str):
        parent[key] = rng.choice(TEXTS)
    elif isinstance(was, list) and was and rng.random() < 0.8:
        parent[key] = rng.choice((was[:-1], was + was[-1:], was[::-1], []))
    else:
        parent[key] = json.loads(rng.choice(WRAPPED))
    return f"{at} = {json.dumps(parent[key])[:80]}"


def _place(document: Any, rng: random.Random) -> tuple[str, Any, Any]:
    """Return path, key and holder of a value: a random walk from the root, so depths are even."""
    path, parent = "$", document
    while True:
        key = rng.choice(list(_keys(parent)))
        path += f".{key}" if isinstance(parent, dict) else f"[{key}]"
        value = parent[key]
        if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
            return path, key, parent
        parent = value


def _keys(holder: Any) -> Iterator[Any]:
    yield from holder if isinstance(holder, dict) else range(len(holder))
