"""Programs that take turns: each holds its data and runs operations on request.

A machine drifts within seconds; so programs with a long set-up are kept running, and each of their
turns is next to one of the others'.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from nearfar.base.errors import NearfarError


class Sound(msgspec.Struct):
    """Holds the last line of `nearfar-bench turns`."""

    verified: list[str]


class Turns:
    """Runs operations of a process that holds a map: ours, or the peer. Kills it on leaving."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = shlex.join(command)
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def turn(self, operation: str, count: int) -> bytes:
        """Run `count` operations; return the line of the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{operation} {count}\n".encode())
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise NearfarError(_ended(self._command, self._process.wait()))
        return line

    def end(self) -> bytes:
        """End its input and wait for it; return its last line, or raise if it failed."""
        answer, _ = self._process.communicate()
        if self._process.returncode != 0:
            raise NearfarError(_ended(self._command, self._process.returncode))
        return answer


def _ended(command: str, code: int) -> str:
    return f"{command} ended with exit code {code}"


def end_verified(turns: Turns) -> None:
    """End a `nearfar-bench turns`; raise if its content was wrong."""
    if not msgspec.json.decode(turns.end(), type=Sound).verified:
        raise NearfarError(
            "nearfar-bench turns did not verify the content of its map: its times do not count"
        )
