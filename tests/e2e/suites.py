"""Builds programs from Debian's sources with nearfar's compilers and runs their suites."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.native_files import native_folder

from .conftest import NEARFAR, ROOT

sys.path.insert(0, str(ROOT / "examples/demo"))


def source_tree(package: str) -> Path:
    """Return a Debian package's source, fetched once; skip where it is unavailable."""
    from source import SourceUnavailableError, fetch_source

    try:
        return fetch_source(package, ROOT / "build/suites" / package)
    except SourceUnavailableError as error:
        pytest.skip(f"the source of {package} is not available here: {error}")


def configured(tree: Path, *options: str) -> Path:
    """Return a build folder inside `tree`, configured for nearfar's current compiler."""
    folder, now = tree / "nearfar-build", _compiler_now()
    stamp = folder / ".built-with"
    if not stamp.exists() or stamp.read_text() != now:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        compiler = f"CC={shlex.quote(str(NEARFAR))} cc"
        step(folder, ["../configure", compiler, *options])
        stamp.write_text(now)
    return folder


def _compiler_now() -> str:
    """Return an id of the pass and the runtime, so that new ones cause a new build."""
    files = sorted(native_folder().glob("*"))
    return "\n".join(f"{path.name} {path.stat().st_mtime_ns}" for path in files)


def attempt(folder: Path, command: Sequence[str], **variables: str) -> tuple[int, str]:
    """Run a command; return its exit code and its output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def step(folder: Path, command: Sequence[str], **variables: str) -> str:
    """Run a step that must succeed and return its output; fail with its last lines."""
    code, text = attempt(folder, command, **variables)
    assert code == 0, f"{shlex.join(command)}:\n{text[-3000:]}"
    return text


def need(command: str, package: str) -> None:
    """Skip where a command that a suite needs is missing."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed (apt-get install {package})")
