"""The user's checker: parses its command and runs it once."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.terminate import kill_group
from nearfar.native_files import native_file
from nearfar.program.executable import preload

LIBRARY = "libnearfar_crash_checker.so"
HOST = "nearfar_crash_host"
KEPT_BYTES = 4096
"""Bytes kept of the end of the checker's output."""
_FUNCTION_SYMBOL = b"\0nearfar_crash_checker\0"
"""Entry of a program's symbol table if it uses NEARFAR_CRASH_CHECKER."""
LOOP = "NEARFAR_CRASH_LOOP"
"""Environment variable that asks a checker to keep running:
native/crash/explore/loop_checker.cpp."""
_SHELL = re.compile(r"[|&;<>()$`*?\[\]~#\n]")
"""Characters that make a shell necessary."""


@dataclass(frozen=True)
class CheckerVerdict:
    """Result of one run of the checker."""

    symptom: str
    """Exit code, signal or hang; empty: it accepts the image."""
    output: str


@dataclass(frozen=True)
class Check:
    """A command that judges each image: exit code 0 accepts it."""

    command: str
    oracle: bool = False
    """Whether an oracle judges its output (``CrashRequest.oracle``), which is then kept
    completely."""
    few_states: bool = False
    """Whether to run it only in states in which none, all, or only the flushed of the pending
    stores survived."""


@dataclass(frozen=True)
class CheckCommand:
    """A parsed check; ``{pool}``, ``{done}``, ``{begun}`` and ``{in_flight}`` are not filled in."""

    words: tuple[str, ...]
    shell: bool
    """Whether the command is one string for a shell."""
    library: str
    """Path of the shared library with the checker as a function; empty: it is a program."""
    by_operation: bool
    """Whether the command uses the numbers of operations."""
    function: bool
    """Whether the program may contain its checker as a function (NEARFAR_CRASH_CHECKER)."""
    loop: bool
    """Whether the checker supports the variable LOOP, with which it judges an image for each
    line."""

    def with_pool(self, pool: Path) -> list[str]:
        """Return the words with the image's path filled in."""
        quoted = shlex.quote(str(pool)) if self.shell else str(pool)
        return [word.replace("{pool}", quoted) for word in self.words]


def parse(text: str) -> CheckCommand:
    """Read ``--check``."""
    shell = _SHELL.search(text) is not None
    try:
        words = [text] if shell else shlex.split(text)
    except ValueError as error:
        raise CommandError(f"cannot parse --check {text!r}: {error}") from error
    if not words:
        raise CommandError("the check is empty: give --check 'CHECK {pool}'")
    library = "" if shell else _library(words[0])
    if "{pool}" not in text and not library:
        raise CommandError(
            "the checker does not say where the pool's path goes: --check 'CHECK {pool}'"
        )
    if not shell:
        words[0] = str(native_file(HOST)) if library else _program(words[0])
    by_operation = any(name in text for name in ("{done}", "{begun}", "{in_flight}"))
    function = bool(library) or _names_file_with(_FUNCTION_SYMBOL, text, words)
    loop = not library and (LOOP in text or _names_file_with(LOOP.encode(), text, words))
    return CheckCommand(tuple(words), shell, library, by_operation, function, loop)


def _names_file_with(content: bytes, text: str, words: Sequence[str]) -> bool:
    """Return whether the command names a program or script with this content."""
    for word in [*words[:1], *text.split()]:
        path = word if Path(word).is_file() else shutil.which(word)
        if path is None:
            continue
        with (
            contextlib.suppress(OSError, ValueError),
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        ):
            if mapped.find(content) >= 0:
                return True
    return False


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        why = "it is not executable" if Path(name).exists() else "No such file or directory"
        raise CommandError(f"cannot run the checker {name}: {why}", ExitCode.MACHINE_LACKS)
    return path


def _library(name: str) -> str:
    """Return the path of a shared library that is not a program, or ""."""
    path = Path(name)
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02":
                return ""
            # ELF-64: e_type, e_phoff, e_phentsize, e_phnum; DYN is 3, PT_INTERP is 3: only
            # programs name an interpreter.
            (kind,) = struct.unpack_from("<H", head, 16)
            (table,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(table)
            segments = file.read(size * count)
    except OSError:
        return ""
    types = [struct.unpack_from("<I", segments, at)[0] for at in range(0, len(segments), size)]
    return str(path.resolve()) if kind == 3 and 3 not in types else ""


def variables(command: CheckCommand, pool: Path, operations: Sequence[int]) -> dict[str, str]:
    """Return the environment variables for one run of a checker, or one call of its function."""
    environment = {"NEARFAR_CRASH_IMAGE": str(pool)}
    if command.function:
        environment["LD_PRELOAD"] = preload(LIBRARY)
        environment["NEARFAR_CRASH_ONCE"] = ",".join(map(str, operations))
    if command.library:
        environment["NEARFAR_CRASH_CHECKER_LIBRARY"] = command.library
    return environment


def filled(command: CheckCommand, pool: Path, operations: Sequence[int]) -> list[str]:
    """Return the filled-in command; `operations`: number last done, last begun, those in flight."""
    done, begun, *in_flight = operations
    values = {
        "{done}": str(done),
        "{begun}": str(begun),
        "{in_flight}": ",".join(map(str, in_flight)),
    }
    words = [_fill(word, values) for word in command.with_pool(pool)]
    return ["/bin/sh", "-c", *words] if command.shell else words


def run_once(
    command: CheckCommand,
    pool: Path,
    operations: Sequence[int],
    timeout_s: float,
    environment: Mapping[str, str],
    *,
    kept_bytes: int = KEPT_BYTES,
) -> CheckerVerdict:
    """Judge the image in the file `pool`; keep the last `kept_bytes` of the output."""
    words = filled(command, pool, operations)
    try:
        process = subprocess.Popen(
            words,
            env={**environment, **variables(command, pool, operations)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Its children are in its session and end with it.
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(
            f"cannot run the checker {words[0]}: {error.strerror}", ExitCode.MACHINE_LACKS
        ) from error
    try:
        output, hangs = _wait(process, timeout_s, kept_bytes)
    finally:
        # Its children might keep the pool open.
        _kill_session(process)
        if process.stdout is not None:
            process.stdout.close()
    return CheckerVerdict("hang" if hangs else symptom_of(process.returncode), output)


def _wait(process: subprocess.Popen[bytes], timeout_s: float, kept_bytes: int) -> tuple[str, bool]:
    """Wait for the process; return the end of its output and whether it took too long."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    ended = os.pidfd_open(process.pid)
    deadline = time.monotonic() + timeout_s
    output = b""
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
                output = (output + piece)[-kept_bytes:]
                if not piece:
                    poll.unregister(pipe)
            if ended in ready:
                break
            if time.monotonic() >= deadline:
                hangs = True
                break
        while not hangs and (piece := _read(pipe)):
            output = (output + piece)[-kept_bytes:]
    finally:
        os.close(ended)
    return output.decode(errors="replace").strip(), hangs


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    kill_group(process.pid)
    process.wait()


def symptom_of(code: int) -> str:
    """Return how a checker ended; empty: it accepts the image."""
    if code == 0:
        return ""
    return f"exit {code}" if code > 0 else signal.Signals(-code).name


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text
