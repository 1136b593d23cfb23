"""The user's checker: its command, and running it once by itself."""

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
from nearfar.native_files import native_file
from nearfar.program.executable import preload

LIBRARY = "libnearfar_crash_checker.so"
HOST = "nearfar_crash_host"
KEPT_BYTES = 4096
"""Of the checker's output: its end. The rest is read and thrown away."""
_REGISTERS = b"\0nearfar_crash_checker\0"
"""In a program's table of names, if it has NEARFAR_CRASH_CHECKER in it."""
_SHELL = re.compile(r"[|&;<>()$`*?\[\]~#\n]")
"""What only a shell understands; without any of it, none is started."""


@dataclass(frozen=True)
class Verdict:
    """How the checker ended."""

    symptom: str
    """Empty: it found nothing wrong."""
    said: str


@dataclass(frozen=True)
class Check:
    """A command that judges each image: exit code 0 if it is fine."""

    command: str
    oracle: bool = False
    """nearfar judges what it prints (``Request.oracle``), all of which is kept."""
    rarely: bool = False
    """Only where none, all, or what was flushed of the stores in doubt survived."""


@dataclass(frozen=True)
class Command:
    """A check as it is started; ``{pool}``, ``{done}``, ``{begun}``, ``{in_flight}`` are in it."""

    words: tuple[str, ...]
    shell: bool
    """It is one word, for a shell."""
    library: str
    """Path of the shared library that holds it as a function; empty: it is a program."""
    by_operation: bool
    """It is told which operations are done."""
    function: bool
    """It may hold its checker as a function (NEARFAR_CRASH_CHECKER)."""

    def with_pool(self, pool: Path) -> list[str]:
        """Return the words with the image's path in them."""
        quoted = shlex.quote(str(pool)) if self.shell else str(pool)
        return [word.replace("{pool}", quoted) for word in self.words]


def parse(text: str) -> Command:
    """Read ``--check``."""
    shell = _SHELL.search(text) is not None
    try:
        words = [text] if shell else shlex.split(text)
    except ValueError as error:
        raise CommandError(f"--check {text!r} cannot be read: {error}") from error
    if not words:
        raise CommandError("say what judges an image: --check 'CHECK {pool}'")
    library = "" if shell else _library(words[0])
    if "{pool}" not in text and not library:
        raise CommandError(
            "the checker does not say where the pool's path goes: --check 'CHECK {pool}'"
        )
    if not shell:
        words[0] = str(native_file(HOST)) if library else _program(words[0])
    by_operation = any(name in text for name in ("{done}", "{begun}", "{in_flight}"))
    function = bool(library) or _names_function(text, words)
    return Command(tuple(words), shell, library, by_operation, function)


def _names_function(text: str, words: Sequence[str]) -> bool:
    """Return whether a program that the command names asks for the server's function by name."""
    for word in [*words[:1], *text.split()]:
        found = shutil.which(word)
        if found is None:
            continue
        with contextlib.suppress(OSError, ValueError), Path(found).open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find(_REGISTERS) >= 0:
                    return True
    return False


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        why = "it may not be run" if Path(name).exists() else "No such file or directory"
        raise CommandError(f"cannot run the checker {name}: {why}", ExitCode.MACHINE_LACKS)
    return found


def _library(name: str) -> str:
    """Return the path of a shared library that is no program, or nothing."""
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


def variables(command: Command, pool: Path, operations: Sequence[int]) -> dict[str, str]:
    """Return what the environment of a checker run by itself has: a function is called once."""
    found = {"NEARFAR_CRASH_IMAGE": str(pool)}
    if command.function:
        found["LD_PRELOAD"] = preload(LIBRARY)
        found["NEARFAR_CRASH_ONCE"] = ",".join(map(str, operations))
    if command.library:
        found["NEARFAR_CRASH_CHECKER_LIBRARY"] = command.library
    return found


def filled(command: Command, pool: Path, operations: Sequence[int]) -> list[str]:
    """Return what to start: `operations` are the last done, the last begun, those in flight."""
    done, begun, *in_flight = operations
    facts = {
        "{done}": str(done),
        "{begun}": str(begun),
        "{in_flight}": ",".join(map(str, in_flight)),
    }
    words = [_fill(word, facts) for word in command.with_pool(pool)]
    return ["/bin/sh", "-c", *words] if command.shell else words


def run_once(
    command: Command,
    pool: Path,
    operations: Sequence[int],
    timeout_s: float,
    environment: Mapping[str, str],
    *,
    kept_bytes: int = KEPT_BYTES,
) -> Verdict:
    """Judge what the file `pool` holds; of what it prints the last `kept_bytes` are kept."""
    words = filled(command, pool, operations)
    try:
        process = subprocess.Popen(
            words,
            env={**environment, **variables(command, pool, operations)},
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
        said, hangs = _attend(process, timeout_s, kept_bytes)
    finally:
        # Also what it left behind, which might hold the pool.
        _kill_session(process)
        if process.stdout is not None:
            process.stdout.close()
    return Verdict("hang" if hangs else _symptom(process.returncode), said)


def _attend(
    process: subprocess.Popen[bytes], timeout_s: float, kept_bytes: int
) -> tuple[str, bool]:
    """Wait for it; return the end of its output and whether it took too long."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    ended = os.pidfd_open(process.pid)
    deadline = time.monotonic() + timeout_s
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
                kept = (kept + piece)[-kept_bytes:]
                if not piece:
                    poll.unregister(pipe)
            if ended in ready:
                break
            if time.monotonic() >= deadline:
                hangs = True
                break
        while not hangs and (piece := _read(pipe)):
            kept = (kept + piece)[-kept_bytes:]
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
