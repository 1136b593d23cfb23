"""Programs that take turns: each holds what it made, and runs what it is told to.

What drifts on a machine drifts within seconds; so programs whose set-up takes as long are kept
running, and each of their turns lies beside one of the others'.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from nearfar.base.errors import NearfarError


class Sound(msgspec.Struct):
    """The last line of `nearfar-bench turns`."""

    verified: list[str]


class Turns:
    """A process that holds a map and runs what it is told: ours, or the peer. Killed on leaving."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
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
        """The process."""
        return self._process.pid

    def turn(self, operation: str, count: int) -> bytes:
        """Run `count` operations; the line that it answered."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{operation} {count}\n".encode())
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise NearfarError(f"{self._process.args!r} ended with {self._process.wait()}")
        return line

    def end(self) -> bytes:
        """End its input and wait for it; its last line. Raises if it failed."""
        answer, _ = self._process.communicate()
        if self._process.returncode != 0:
            raise NearfarError(f"{self._process.args!r} ended with {self._process.returncode}")
        return answer


def end_verified(turns: Turns) -> None:
    """End a `nearfar-bench turns`; raises where its content was wrong."""
    if not msgspec.json.decode(turns.end(), type=Sound).verified:
        raise NearfarError("what was held was not verified")
