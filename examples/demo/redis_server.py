"""Builds Redis with nearfar's compilers and says how to start it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BUILD_OPTIONS = [
    "MALLOC=libc",  # the bundled allocator would hide every object behind a few large mappings
    "USE_SYSTEMD=no",  # no service manager here
    "BUILD_TLS=no",
]


class BuildFailedError(Exception):
    """Redis did not build; the message names the log."""


def build(tree: Path, compiler: str, log: Path, options: list[str] = BUILD_OPTIONS) -> Path:
    """Build redis-server in `tree` with `compiler`, once; return the executable."""
    executable = tree / "src" / "redis-server"
    stamp = tree / ".built-with"
    if executable.exists() and stamp.exists() and stamp.read_text() == _identity(compiler, options):
        return executable
    with log.open("wb") as output:
        for command in (
            ["make", "distclean"],
            ["make", f"-j{os.cpu_count()}", f"CC={compiler}", *options, "redis-server"],
        ):
            done = subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False)
    if done.returncode != 0 or not executable.exists():
        raise BuildFailedError(f"Redis did not build with {compiler!r}; the log is {log}")
    stamp.write_text(_identity(compiler, options))
    return executable


def _identity(compiler: str, options: list[str]) -> str:
    """Name the compiler and the state of its pass and run time, so that a new one rebuilds."""
    from nearfar.native_files import native_folder

    parts = [f"{path.name} {path.stat().st_mtime_ns}" for path in native_folder().glob("*")]
    return "\n".join([compiler, *options, *sorted(parts)])


def server_command(executable: Path, socket: Path) -> list[str]:
    """Return the command of a server that listens on `socket` only and writes no files."""
    return [
        str(executable),
        *("--port", "0"),
        *("--unixsocket", str(socket)),
        *("--save", ""),
        *("--appendonly", "no"),
        *("--daemonize", "no"),
        *("--loglevel", "warning"),
    ]
