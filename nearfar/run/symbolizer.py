"""Names of return addresses while a program runs, from one llvm-symbolizer process."""

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
    """Frames of return addresses, innermost inlined call first, with a cache."""

    def __init__(self) -> None:
        self._frames: dict[SourceLocation, list[Frame]] = {}
        tool = next((path for name in _TOOLS if (path := shutil.which(name))), None)
        if tool is None and shutil.which("addr2line") is None:
            raise NearfarError(
                "no tool here names call stacks, so no object would be recognised: install "
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
                # Ctrl-C is for the program; this process ends when its input is closed.
                start_new_session=True,
            )

    def frames(self, location: SourceLocation) -> list[Frame]:
        """Return the frames of a return address, at least one."""
        if location not in self._frames:
            frames = self._query(location) if '"' not in location.module else None
            if frames is None:
                frames = symbolise([location])[location]
            name = Path(location.module).name
            self._frames[location] = frames or [
                Frame(function=f"{name}+{location.offset:#x}", module=name)
            ]
        return self._frames[location]

    def _query(self, location: SourceLocation) -> list[Frame] | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            # A return address is the next instruction's, which may be in the next function.
            process.stdin.write(f'"{location.module}" {location.offset - 1:#x}\n')
            process.stdin.flush()
            row = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            return None
        name = Path(location.module).name
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
        """End the symbolizer process."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
