"""Starts compilers, two at a time; importing subprocess would cost more than the rest of a call."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping


class ToolProcess:
    """A running child process."""

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str] | None = None,
        stdin: str | None = None,
        quiet: bool = False,
    ) -> None:
        """Start `arguments`; `stdin` names a file to read, `quiet` drops all it prints."""
        actions: list[tuple[object, ...]] = []
        if stdin is not None:
            actions.append((os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0))
        if quiet:
            for descriptor in (1, 2):
                actions.append((os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0))
        self._id = os.posix_spawn(
            arguments[0],
            arguments,
            os.environ if environment is None else environment,
            file_actions=actions,
        )

    def wait(self) -> int:
        """Return the exit code; 128 + the signal's number if a signal killed it, as in shells."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._id, 0)[1])
        return code if code >= 0 else 128 - code


class TemporaryFolder:
    """A folder for one call's intermediate files, made when first asked for."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._count = 0

    def __enter__(self) -> TemporaryFolder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is None:
            return
        # After Ctrl-C a compiler may still be writing here: try until it is gone.
        for _attempt in range(20):
            try:
                for name in os.listdir(self._path):
                    os.unlink(os.path.join(self._path, name))
                os.rmdir(self._path)
                return
            except OSError:
                time.sleep(0.05)

    def make(self) -> None:
        """Make the folder now: a later failure would have to stop a running compiler."""
        self.file("")

    def file(self, name: str) -> str:
        """Return a path in the folder that ends in `name` and was not returned before."""
        if self._path is None:
            base = os.environ.get("TMPDIR", "/tmp")  # as compilers do
            while True:
                path = os.path.join(base, f"nearfar-{os.getpid()}-{os.urandom(4).hex()}")
                try:
                    os.mkdir(path, 0o700)
                except FileExistsError:
                    continue
                self._path = path
                break
        self._count += 1
        return os.path.join(self._path, f"{self._count}-{name}")

    def named(self, name: str) -> str:
        """Return the path of the file that is called exactly `name` in the folder."""
        self.make()
        return os.path.join(self._path or "", os.path.basename(name))
