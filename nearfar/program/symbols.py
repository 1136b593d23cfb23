"""Functions, files and lines of return addresses, inlined calls included."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
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


@dataclass(frozen=True)
class SourceLocation:
    """A return address as an offset in a module's file, or a named frame."""

    module: str
    offset: int
    named: str = ""
    """Text of a named frame, which has no module; "" for a return address."""


class Symbolizer:
    """Frames of return addresses while a program runs, with a cache.

    NearfarError if no tool here can name them.
    """

    def __init__(self) -> None:
        self._frames: dict[SourceLocation, list[Frame]] = {}
        tool = _llvm_symbolizer()
        if tool is None and shutil.which("addr2line") is None:
            raise NearfarError(
                "no tool here names call stacks, so no object would be recognised: install "
                "llvm-symbolizer (package llvm) or addr2line (package binutils)",
                ExitCode.MACHINE_LACKS,
            )
        self._process: subprocess.Popen[str] | None = None
        if tool is not None:
            self._process = subprocess.Popen(
                [tool, *_LLVM_OPTIONS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                # Ctrl-C is for the program; this process ends when its input is closed.
                start_new_session=True,
            )

    def frames(self, location: SourceLocation) -> list[Frame]:
        """Return the frames of a return address, innermost inlined call first, at least one."""
        if location not in self._frames:
            named = self._query(location) if '"' not in location.module else None
            self._frames[location] = (
                symbolise([location])[location] if named is None else _named(named, location)
            )
        return self._frames[location]

    def _query(self, location: SourceLocation) -> list[Frame] | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(f'"{location.module}" {_question(location)}')
            process.stdin.flush()
            return _frames(process.stdout.readline())
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """End the symbolizer process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


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
            if tool:
                answers = _llvm(tool, module, group)
            elif shutil.which("addr2line"):
                answers = _addr2line(module, group)
        for location, frames in zip(group, answers, strict=True):
            frames_of[location] = _named(frames, location)
    return frames_of


def _llvm_symbolizer() -> str | None:
    return next((path for name in _SYMBOLIZERS if (path := shutil.which(name))), None)


def _named(frames: list[Frame], location: SourceLocation) -> list[Frame]:
    """Return the frames that have a function, with their module; else one of the offset."""
    name = Path(location.module).name
    for frame in frames:
        frame.module = name
    nameless = Frame(function=f"{name}+{location.offset:#x}", module=name)
    return [frame for frame in frames if frame.function] or [nameless]


def _question(location: SourceLocation) -> str:
    # A return address is that of the next instruction, perhaps of another line or function.
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
    answer = subprocess.run(
        [tool, f"--obj={module}", *_LLVM_OPTIONS],
        input="".join(map(_question, group)),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    rows = [line for line in answer.stdout.splitlines() if line.startswith("{")]
    return [_frames(row) for row in rows] if len(rows) == len(group) else [[] for _ in group]


_ADDRESS = re.compile(r"0x[0-9a-f]+$")


def _addr2line(module: str, group: list[SourceLocation]) -> list[list[Frame]]:
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
    """Return the demangled form of each linkage name; none without a tool."""
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
