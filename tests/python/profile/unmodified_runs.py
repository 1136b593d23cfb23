"""Runs of `nearfar profile` on programs that were not rebuilt, and their counts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

from nearfar.__main__ import main

CACHE = ["--llc", "256KiB", "--ways", "16"]

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None,
    reason="qemu-x86_64 is not installed (apt-get install qemu-user)",
)
Profile = dict[str, Any]


def run(
    folder: Path, *words: str, options: tuple[str, ...] = (), **variables: str
) -> tuple[subprocess.CompletedProcess[str], Profile | None]:
    """Profile a program in this process; return its exit and its output.

    Another process takes half a second to start.
    """
    output = folder / "run.json"
    output.unlink(missing_ok=True)
    command = ["profile", "-o", str(output), "--repetitions", "1", *CACHE, *options, "--", *words]
    with mock.patch.dict(os.environ, {"COLUMNS": "1000", **variables}), _printed() as files:
        code = main(command)
    done = subprocess.CompletedProcess(command, code, *(file.getvalue() for file in files))
    return done, json.loads(output.read_text()) if output.exists() else None


@contextlib.contextmanager
def _printed() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Return what this process and its programs print meanwhile: it is there at the end."""
    texts = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        for number, redirect, text in (
            (1, contextlib.redirect_stdout, texts[0]),
            (2, contextlib.redirect_stderr, texts[1]),
        ):
            file = stack.enter_context(tempfile.TemporaryFile("w+"))
            kept = os.dup(number)
            os.dup2(file.fileno(), number)
            stack.callback(_restore, file, kept, number, text)
            stack.enter_context(redirect(file))
        yield texts


def _restore(file: IO[str], kept: int, number: int, text: io.StringIO) -> None:
    """Give output `number` what it wrote to before, and `text` what came into `file`."""
    os.dup2(kept, number)
    os.close(kept)
    file.flush()
    file.seek(0)
    text.write(file.read())


def profile(folder: Path, *words: str, options: tuple[str, ...] = ()) -> Profile:
    """Profile a program that must succeed."""
    done, output = run(folder, *words, options=options)
    assert done.returncode == 0, done.stderr
    assert output is not None
    return output


def misses(found: Profile, phase: str = "-") -> dict[str, float]:
    """Return the misses of each object in a phase, by name."""
    rows = next(p for p in found["phases"] if p["name"] == phase)["objects"]
    return {
        found["objects"][row["object"]]["name"]: sum(row["traffic"]["read_misses"].values())
        + sum(row["traffic"]["write_misses"].values())
        for row in rows
    }
