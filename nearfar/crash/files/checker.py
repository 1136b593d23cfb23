"""Judges images of files by the user's command or an adapter."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.crash.checker import KEPT_BYTES, CheckerVerdict, parse, run_once, symptom_of
from nearfar.crash.files.adapters import loaded_command
from nearfar.crash.files.contents import FileImage
from nearfar.crash.files.images import write_image
from nearfar.crash.record import environment

PRINTED_VARIABLE = "NEARFAR_CRASH_PRINTED"
_NO_OPERATIONS = (-1, -1)


class FileChecker:
    """The user's command; ``{files}`` stands for an image's folder, ``{printed}`` for a file."""

    def __init__(self, check: str, folder: Path, timeout_s: float) -> None:
        self._image = folder / "image"
        self._printed = folder / "printed"
        self._timeout_s = timeout_s
        self._variables = {**environment(), PRINTED_VARIABLE: str(self._printed)}
        text = check.replace("{printed}", shlex.quote(str(self._printed)))
        self._command = parse(text.replace("{files}", "{pool}"))
        words = loaded_command(check, self._image, self._printed, folder / "output")
        self._loaded = words and _LoadedAdapter(words, folder / "output", self._variables)

    def judge(self, image: Sequence[FileImage], printed: bytes) -> CheckerVerdict:
        """Judge an image and what the program had printed."""
        write_image(image, self._image)
        self._printed.write_bytes(printed)
        if self._loaded:
            return self._loaded.judge(self._timeout_s)
        return run_once(
            self._command, self._image, _NO_OPERATIONS, self._timeout_s, self._variables
        )

    def close(self) -> None:
        """End a loaded adapter."""
        if self._loaded:
            self._loaded.close()


class _LoadedAdapter:
    """An adapter that is started once and forked for each image."""

    def __init__(self, words: Sequence[str], output: Path, variables: Mapping[str, str]) -> None:
        self._output = output
        self._process = subprocess.Popen(
            words,
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Only this process handles Ctrl-C.
            start_new_session=True,
        )

    def judge(self, timeout_s: float) -> CheckerVerdict:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        child = self._number()
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        if not ready:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = self._number()
        output = self._output.read_bytes()[-KEPT_BYTES:].decode(errors="replace").strip()
        symptom = symptom_of(os.waitstatus_to_exitcode(status)) if ready else "hang"
        return CheckerVerdict(symptom, output)

    def _number(self) -> int:
        """Read a number, byte by byte: a buffer would hide the following lines from `select`."""
        assert self._process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._process.stdout.fileno(), 1)
            if not byte:
                raise NearfarError(
                    "the adapter ended: run its command, which the report names, by hand",
                    ExitCode.PROGRAM_FAILED,
                )
            line += byte
        return int(line)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
