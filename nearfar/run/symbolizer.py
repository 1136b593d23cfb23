"""Names return addresses while a program runs: one llvm-symbolizer that stays."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.workload import Frame
from nearfar.program.symbols import SourceLocation, symbolise

_TOOLS = ("llvm-symbolizer-16", "llvm-symbolizer")


class Symbolizer:
    """Frames at a place of a file, innermost inlined call first; remembers what it said."""

    def __init__(self) -> None:
        self._known: dict[SourceLocation, list[Frame]] = {}
        tool = next((path for name in _TOOLS if (path := shutil.which(name))), None)
        if tool is None and shutil.which("addr2line") is None:
            raise NearfarError(
                "nothing here names call stacks, so no object would be recognised: install "
                "llvm-symbolizer (package llvm) or addr2line (package binutils)",
                ExitCode.MACHINE_LACKS,
            )
        self._process: subprocess.Popen[str] | None = None
        if tool is not None:
            self._process = subprocess.Popen(
                [tool, "--output-style=JSON", "--demangle", "--inlines"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                # Ctrl-C is for the program; this ends when its input does.
                start_new_session=True,
            )

    def frames(self, place: SourceLocation) -> list[Frame]:
        """Return the frames at a return address; one at least."""
        if place not in self._known:
            found = self._ask(place) if '"' not in place.module else None
            name = Path(place.module).name
            if found is None:
                found = symbolise([place])[place]
            self._known[place] = found or [Frame(function=f"{name}+{place.offset:#x}", module=name)]
        return self._known[place]

    def _ask(self, place: SourceLocation) -> list[Frame] | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            # A return address is that of the next instruction, perhaps the next function's.
            process.stdin.write(f'"{place.module}" {place.offset - 1:#x}\n')
            process.stdin.flush()
            row = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            return None
        name = Path(place.module).name
        frames = [
            Frame(
                function=symbol.get("FunctionName", ""),
                file=symbol.get("FileName", ""),
                line=int(symbol.get("Line", 0)),
                module=name,
            )
            for symbol in row.get("Symbol", [])
        ]
        return [frame for frame in frames if frame.function]

    def close(self) -> None:
        """End the tool."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
