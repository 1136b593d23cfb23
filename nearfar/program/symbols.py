"""Functions, files and lines of return addresses, inlined calls included."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.workload import Frame
from nearfar.program.named_frames import named_frame

_SYMBOLIZERS = (
    "llvm-symbolizer-16",
    "llvm-symbolizer",
    *(f"llvm-symbolizer-{version}" for version in (19, 18, 17, 15, 14)),
)
_LLVM_OPTIONS = ("--output-style=JSON", "--demangle", "--inlines")
_QUESTIONS_PER_BATCH = 8
"""Questions written before their answers are read; they fit into a pipe with the longest paths."""


@dataclass(frozen=True)
class SourceLocation:
    """A return address as an offset in a module's file, or a named frame."""

    module: str
    offset: int
    named: str = ""
    """Text of a named frame, which has no module; "" for a return address."""


class Symbolizer:
    """Frames of return addresses while a program runs, with a cache.

    Raises NearfarError if no symbolizer is installed.
    """

    def __init__(self) -> None:
        self._frames: dict[SourceLocation, list[Frame]] = {}
        tool = _llvm_symbolizer()
        if tool is not None:
            with _LOCK:
                _kept_process(tool)  # now, so that its start does not delay the program
        elif shutil.which("addr2line") is None:
            raise NearfarError(
                "no tool here names call stacks, so no object would be recognised: install "
                "llvm-symbolizer (package llvm) or addr2line (package binutils)",
                ExitCode.MACHINE_LACKS,
            )

    def frames(self, location: SourceLocation) -> list[Frame]:
        """Return the frames of a return address, innermost inlined call first, at least one."""
        if location not in self._frames:
            self._frames.update(symbolise([location]))
        return self._frames[location]


def symbolise(locations: Iterable[SourceLocation]) -> dict[SourceLocation, list[Frame]]:
    """Return the frames at each location, innermost inlined call first; at least one frame."""
    by_module: dict[str, list[SourceLocation]] = {}
    frames_of: dict[SourceLocation, list[Frame]] = {}
    for location in dict.fromkeys(locations):
        if location.named:
            frames_of[location] = [named_frame(location.named)]
        else:
            by_module.setdefault(location.module, []).append(location)
    tool = _llvm_symbolizer()
    for module, group in by_module.items():
        answers: list[list[Frame]] = [[] for _ in group]
        if Path(module).is_file():
            if tool and _fits_a_question(module):
                answers = _llvm(tool, module, group)
            elif shutil.which("addr2line"):
                answers = _addr2line(module, group)
        for location, frames in zip(group, answers, strict=True):
            frames_of[location] = _named(frames, location)
    return frames_of


def _fits_a_question(module: str) -> bool:
    """Return whether a path has no quotes, and no characters that cannot be printed."""
    return '"' not in module and module.isprintable()


def _llvm_symbolizer() -> str | None:
    return next((path for name in _SYMBOLIZERS if (path := shutil.which(name))), None)


def _named(frames: list[Frame], location: SourceLocation) -> list[Frame]:
    """Set the frames' module; return those with a function, or one frame named by the offset."""
    name = Path(location.module).name
    for frame in frames:
        frame.module = name
    nameless = Frame(function=f"{name}+{location.offset:#x}", module=name)
    return [frame for frame in frames if frame.function] or [nameless]


def _question(location: SourceLocation) -> str:
    # The instruction at a return address may be of another line or function than the call: the
    # byte before it is the call's last one.
    return f"{location.offset - 1:#x}\n"


# The two versions of a function that `nearfar cc` compiles, as demanglers write their suffix.
_VERSION = re.compile(r"(?: \(| \[clone )?\.(?:traced|plain)[)\]]?$")


def _frames(line: str) -> list[Frame]:
    return [
        Frame(
            function=_VERSION.sub("", symbol.get("FunctionName", "")),
            file=symbol.get("FileName", ""),
            line=int(symbol.get("Line", 0)),
            column=int(symbol.get("Column", 0)),
        )
        for symbol in json.loads(line).get("Symbol", [])
    ]


def _llvm(tool: str, module: str, group: list[SourceLocation]) -> list[list[Frame]]:
    with _LOCK:
        # If the process failed, it was killed, and `_kept_process` starts another one.
        rows = _kept_process(tool).answers(module, group) or _kept_process(tool).answers(
            module, group
        )
    return [_frames(row) for row in rows] or [[] for _ in group]


class _SymbolizerProcess:
    """A process of llvm-symbolizer, kept because its start takes longer than most answers."""

    def __init__(self, tool: str) -> None:
        self._file_states: dict[str, tuple[int, int]] = {}
        self._process = subprocess.Popen(
            [tool, *_LLVM_OPTIONS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            cwd="/",
            # Ctrl-C is for the program; this process ends when its input is closed.
            start_new_session=True,
        )

    def usable(self) -> bool:
        """Return whether the process runs, and no module has changed since it was read."""
        return self._process.poll() is None and all(
            _file_state(module) == state for module, state in self._file_states.items()
        )

    def answers(self, module: str, group: list[SourceLocation]) -> list[str]:
        """Return a line of JSON for each location; an empty list if the process failed."""
        path = str(Path(module).absolute())
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._file_states[path] = _file_state(path)
        rows: list[str] = []
        try:
            for first in range(0, len(group), _QUESTIONS_PER_BATCH):
                questions = group[first : first + _QUESTIONS_PER_BATCH]
                stdin.writelines(f'"{path}" {_question(location)}' for location in questions)
                stdin.flush()
                rows += [stdout.readline() for _ in questions]
        except OSError:
            rows = []
        except BaseException:
            self._kill()  # else the next call would read the answers to these questions
            raise
        if not rows or not all(row.startswith("{") for row in rows):
            self._kill()
            return []
        return rows

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process; an open one ends with nearfar, which closes its input."""
        if self._process.poll() is None:
            self._process.communicate()


_LOCK = threading.Lock()
_kept: list[_SymbolizerProcess] = []


def _kept_process(tool: str) -> _SymbolizerProcess:
    """Return the kept process if it is usable, or start another one."""
    if _kept and not _kept[0].usable():
        _kept.pop().close()
    if not _kept:
        _kept.append(_SymbolizerProcess(tool))
    return _kept[0]


def _file_state(module: str) -> tuple[int, int]:
    """Return inode and time of change, which tell whether a file was replaced; zeros: no file."""
    try:
        status = Path(module).stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


_ADDRESS = re.compile(r"0x[0-9a-f]+$")


def _addr2line(module: str, group: list[SourceLocation]) -> list[list[Frame]]:
    """Ask addr2line, which prints each address, then two lines for each frame at the address."""
    answer = subprocess.run(
        ["addr2line", "-a", "-i", "-f", "-C", "-e", module],
        input="".join(map(_question, group)),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    answers: list[list[Frame]] = []
    lines = iter(answer.stdout.splitlines())
    for line in lines:
        if _ADDRESS.match(line):
            answers.append([])
            continue
        file, _, number = next(lines, "").partition(" ")[0].rpartition(":")
        if line != "??" and answers:
            known = number.isdigit() and not file.startswith("??")
            answers[-1].append(
                Frame(
                    function=_VERSION.sub("", line),
                    file=file if known else "",
                    line=int(number) if known else 0,
                )
            )
    return answers if len(answers) == len(group) else [[] for _ in group]


def demangle(names: Iterable[str]) -> dict[str, str]:
    """Return the demangled form of each linkage name; an empty dict without a tool."""
    mangled = sorted({name for name in names if name.startswith(("_Z", "_R"))})
    tool = next(
        (
            path
            for name in ("llvm-cxxfilt-16", "c++filt", "llvm-cxxfilt")
            if (path := shutil.which(name))
        ),
        None,
    )
    if not mangled or tool is None:
        return {}
    answer = subprocess.run(
        [tool], input="\n".join(mangled) + "\n", capture_output=True, text=True, check=False
    )
    lines = answer.stdout.splitlines()
    return dict(zip(mangled, lines, strict=True)) if len(lines) == len(mangled) else {}
