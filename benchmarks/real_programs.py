"""Third-party programs for validation, built by `nearfar cc` from Debian's sources.

They were chosen before any measurement: a compressor that searches its history in trees (xz), one
that searches it in tables (zstd), an interpreter with a hash table (mawk).
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.native_files import native_folder

FOLDER = Path("build/validate")
TEXT_BYTES = 5 << 20
"""Size of the compressors' text: two seconds of work each, so that five sessions of nine runs fit
in 25 minutes; xz's trees over it take 40 MB."""

WORDS = 50_000
WORD_SEED = 1

CLEAN = "if [ -f Makefile ]; then make -s clean; fi"

AWK = """
function mix(x) { return (x * 7919 + 104729) % 1000003 }
BEGIN {
  n = 400000; x = 1
  for (i = 0; i < n; i++) { x = mix(x); count[x "-" i % 7]++ }
  x = 1
  for (i = 0; i < 4 * n; i++) { x = mix(x); if ((x "-" i % 7) in count) found++ }
  exit found == 0
}
"""
"""Counts words that are not in the order of their hashes, and looks up these and others."""


@dataclass(frozen=True)
class Source:
    """Holds a Debian source package and its build steps."""

    package: str
    steps: Sequence[str]
    """Shell commands in its source tree; $CC is nearfar's compiler."""
    program: str


SOURCES = {
    "xz": Source(
        "xz-utils",
        (
            "./configure -q --disable-shared --disable-nls --disable-doc --disable-scripts"
            ' CC="$CC" CFLAGS=-O2',
            "make -s -j 2",
        ),
        "src/xz/xz",
    ),
    "zstd": Source(
        "libzstd",
        ('make -s -j 2 -C programs zstd CC="$CC" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0',),
        "programs/zstd",
    ),
    "mawk": Source("mawk", ('./configure -q CC="$CC" CFLAGS=-O2', "make -s -j 2 mawk"), "mawk"),
}


def build_source(
    name: str, source: Source, tree: Path, environment: Mapping[str, str], log: Path
) -> Path:
    """Return a program built in `tree` with nearfar's pass, once per build of nearfar.

    Raises SourceUnavailableError, or RuntimeError that names the log.
    """
    sys.path.insert(0, "examples/demo")
    from source import fetch_source  # type: ignore[import-not-found]

    tree = Path(fetch_source(source.package, tree))
    program = tree / source.program
    # A program contains the runtime of the nearfar that built it, and another nearfar refuses it.
    newest = max(
        path.stat().st_mtime
        for pattern in ("libnearfar_profile.*", "nearfar_pass-*")
        for path in native_folder().glob(pattern)
    )
    if program.is_file() and program.stat().st_mtime > newest:
        return program
    for step in (CLEAN, *source.steps):
        with log.open("ab") as file:
            done = subprocess.run(
                step, shell=True, cwd=tree, env=environment, stdout=file, stderr=file, check=False
            )
        if done.returncode != 0:
            raise RuntimeError(f"{name} could not be built: see {log}")
    return program


def build(name: str) -> Path:
    """Return the built program; raises SourceUnavailableError or RuntimeError."""
    compiler = f"{Path(sys.executable).parent / 'nearfar'} cc"
    source, log = SOURCES[name], FOLDER.resolve() / f"{name}-build.log"
    tree = FOLDER / source.package
    return build_source(name, source, tree, _environment(compiler), log).resolve()


def commands() -> list[list[str]]:
    """Return the built programs with their arguments and input."""
    text, script = FOLDER / "text", FOLDER / "count.awk"
    built = {name: str(build(name)) for name in SOURCES}
    if not text.is_file() or not TEXT_BYTES <= text.stat().st_size < 1.01 * TEXT_BYTES:
        _write_text(text)
    script.write_text(AWK)
    return [
        [built["xz"], "-6", "-T1", "-c", str(text.resolve())],
        [built["zstd"], "-15", "--single-thread", "-c", str(text.resolve())],
        [built["mawk"], "-f", str(script.resolve())],
    ]


def _environment(compiler: str) -> dict[str, str]:
    import os

    return {**os.environ, "CC": compiler}


def _write_text(path: Path) -> None:
    """Write made-up words with Zipf frequencies, the same on every machine."""
    rng = random.Random(WORD_SEED)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = [
        "".join(rng.choices(letters, range(26, 0, -1), k=rng.randint(2, 9))) for _ in range(WORDS)
    ]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    with path.open("w") as file:
        while file.tell() < TEXT_BYTES:
            file.write(" ".join(rng.choices(words, weights, k=1000)) + "\n")
