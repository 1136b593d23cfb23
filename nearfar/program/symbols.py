"""Functions, files and lines of return addresses, inlined calls included."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.workload import Frame

_SYMBOLIZERS = (
    "llvm-symbolizer-16",
    "llvm-symbolizer",
    *(f"llvm-symbolizer-{version}" for version in (19, 18, 17, 15, 14)),
)


@dataclass(frozen=True)
class SourceLocation:
    """A return address as an offset in a module's file."""

    module: str
    offset: int


def symbolise(locations: Iterable[SourceLocation]) -> dict[SourceLocation, list[Frame]]:
    """Return the frames at each location, innermost inlined call first; at least one frame."""
    by_module: dict[str, list[SourceLocation]] = {}
    for location in dict.fromkeys(locations):
        by_module.setdefault(location.module, []).append(location)
    frames_of: dict[SourceLocation, list[Frame]] = {}
    tool = next((path for name in _SYMBOLIZERS if (path := shutil.which(name))), None)
    for module, group in by_module.items():
        # A return address is that of the next instruction, perhaps of another line or function.
        addresses = [location.offset - 1 for location in group]
        readable = Path(module).is_file()
        if readable and tool:
            answers = _llvm(tool, module, addresses)
        elif readable and shutil.which("addr2line"):
            answers = _addr2line(module, addresses)
        else:
            answers = [[] for _ in addresses]
        name = Path(module).name
        for location, frames in zip(group, answers, strict=True):
            for frame in frames:
                frame.module = name
            nameless = Frame(function=f"{name}+{location.offset:#x}", module=name)
            frames_of[location] = [frame for frame in frames if frame.function] or [nameless]
    return frames_of


def _llvm(tool: str, module: str, addresses: list[int]) -> list[list[Frame]]:
    answer = subprocess.run(
        [tool, f"--obj={module}", "--output-style=JSON", "--demangle", "--inlines"],
        input="".join(f"{address:#x}\n" for address in addresses),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    rows = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    if len(rows) != len(addresses):
        return [[] for _ in addresses]
    return [
        [
            Frame(
                function=symbol.get("FunctionName", ""),
                file=symbol.get("FileName", ""),
                line=int(symbol.get("Line", 0)),
            )
            for symbol in row.get("Symbol", [])
        ]
        for row in rows
    ]


_ADDRESS = re.compile(r"0x[0-9a-f]+$")


def _addr2line(module: str, addresses: list[int]) -> list[list[Frame]]:
    answer = subprocess.run(
        ["addr2line", "-a", "-i", "-f", "-C", "-e", module],
        input="".join(f"{address:#x}\n" for address in addresses),
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
                Frame(function=line, file=file if known else "", line=int(number) if known else 0)
            )
    return answers if len(answers) == len(addresses) else [[] for _ in addresses]


def demangle(names: Iterable[str]) -> dict[str, str]:
    """Return the demangled form of each linkage name; none without a tool."""
    mangled = sorted({name for name in names if name.startswith("_Z")})
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
