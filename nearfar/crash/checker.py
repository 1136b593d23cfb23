"""Runs the user's checker on an image."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode

_KEPT_BYTES = 4096
"""Of the checker's output: its end. The rest is read and thrown away."""
_SHELL = re.compile(r"[|&;<>()$`*?\[\]~#\n]")
"""What only a shell understands; without any of it, none is started."""


@dataclass(frozen=True)
class Verdict:
    """How the checker ended."""

    symptom: str
    """Empty: it found nothing wrong."""
    said: str


class Checker:
    """A command that is given the path of an image; exit code 0 if it is fine."""

    def __init__(
        self, command: str, pool: Path, timeout_s: float, environment: Mapping[str, str]
    ) -> None:
        if "{pool}" not in command:
            raise CommandError(
                "the checker does not say where the pool's path goes: --check 'CHECK {pool}'"
            )
        self.command = command
        self.by_operation = "{done}" in command or "{begun}" in command
        self._pool = str(pool)
        self._timeout_s = timeout_s
        self._environment = dict(environment)
        self._shell = _SHELL.search(command) is not None
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise CommandError(f"--check {command!r} cannot be read: {error}") from error

    def run(self, done: int = -1, begun: int = -1) -> Verdict:
        """Judge what the pool's file holds now."""
        facts = {"{pool}": self._pool, "{done}": str(done), "{begun}": str(begun)}
        if self._shell:
            words = [
                "/bin/sh",
                "-c",
                _fill(self.command, {k: shlex.quote(v) for k, v in facts.items()}),
            ]
        else:
            words = [_fill(word, facts) for word in self._words]
        try:
            process = subprocess.Popen(
                words,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # What it starts is in its session and ends with it.
                start_new_session=True,
            )
        except OSError as error:
            raise CommandError(
                f"cannot run the checker {words[0]}: {error.strerror}", ExitCode.MACHINE_LACKS
            ) from error
        try:
            said, hangs = self._attend(process)
        finally:
            # Also what it left behind, which might hold the pool.
            _kill_session(process)
            if process.stdout is not None:
                process.stdout.close()
        return Verdict("hang" if hangs else _symptom(process.returncode), said)

    def _attend(self, process: subprocess.Popen[bytes]) -> tuple[str, bool]:
        """Wait for it; return the end of its output and whether it took too long."""
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        os.set_blocking(pipe, False)
        ended = os.pidfd_open(process.pid)
        deadline = time.monotonic() + self._timeout_s
        kept = b""
        hangs = False
        try:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            poll.register(ended, select.POLLIN)
            while True:
                left_s = deadline - time.monotonic()
                ready = [file for file, _ in poll.poll(max(0.0, left_s) * 1e3)]
                if pipe in ready:
                    piece = _read(pipe)
                    kept = (kept + piece)[-_KEPT_BYTES:]
                    if not piece:
                        poll.unregister(pipe)
                if ended in ready:
                    break
                if time.monotonic() >= deadline:
                    hangs = True
                    break
            while not hangs and (piece := _read(pipe)):
                kept = (kept + piece)[-_KEPT_BYTES:]
        finally:
            os.close(ended)
        return kept.decode(errors="replace").strip(), hangs


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _symptom(code: int) -> str:
    if code == 0:
        return ""
    return f"exit {code}" if code > 0 else signal.Signals(-code).name


def _fill(text: str, facts: Mapping[str, str]) -> str:
    for name, value in facts.items():
        text = text.replace(name, value)
    return text
