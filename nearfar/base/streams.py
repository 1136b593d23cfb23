"""Standard streams that never end a verb: a run of an hour survives the end of its reader."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from nearfar.base.errors import ExitCode, NearfarError


class UnbreakableStream:
    """A text stream that drops text after its reader has ended, as in ``nearfar ... | head``.

    Raises NearfarError where text cannot be written, as on a full disk.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, text: str) -> int:
        """Write `text`, or drop it if the reader has ended."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._give_up()
            return len(text)
        except OSError as error:
            raise self._cannot_write(error) from error

    def flush(self) -> None:
        """Flush the buffer, or drop its text if the reader has ended."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()
        except OSError as error:
            raise self._cannot_write(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _cannot_write(self, error: OSError) -> NearfarError:
        sentence = f"cannot write to {self._name}: {error.strerror}"
        return NearfarError(sentence, ExitCode.MACHINE_LACKS)

    def _give_up(self) -> None:
        # Buffered text goes to /dev/null too, or the interpreter would report an error at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def protect_streams() -> None:
    """Let writes to a closed standard output or error succeed; a missing one becomes /dev/null."""
    for name, words in (("stdout", "standard output"), ("stderr", "standard error")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w")  # noqa: PTH123, SIM115 - lives as long as the process
        if not isinstance(stream, UnbreakableStream):
            setattr(sys, name, UnbreakableStream(stream, words))
