"""Names instructions that are known by their addresses alone."""

from __future__ import annotations

from nearfar.profile.run_file import ProcessFile
from nearfar.program.symbols import SourceLocation, symbolise


def name_instructions(file: ProcessFile) -> None:
    """Give every instruction of the file the function, file and line that its module knows.

    Only those that missed are looked up: no other is kept in a profile.
    """
    missed = {
        int(row["key"]) & 0xFFFFFFFF
        for row in file.counters
        if int(row["read_misses"]) + int(row["write_misses"])
    }
    places: dict[int, SourceLocation] = {}
    for at, row in enumerate(file.instructions):
        if int(row["key"]) in missed:
            places[at] = _place(file, int(row["line"]) | int(row["column"]) << 32)
    frames = symbolise(places.values())
    names = _Names(file)
    for at, row in enumerate(file.instructions):
        frame = frames[places[at]][0] if at in places else None
        row["function"] = names.add(frame.function if frame else "")
        # Without lines, the address within its file tells instructions of one function apart.
        known = frame is not None and frame.line > 0
        module = places[at].module if at in places else ""
        row["file"] = names.add(frame.file if frame and known else module)
        row["line"] = frame.line if frame and known else 0
        row["column"] = 0 if known or at not in places else _low(places[at].offset - 1)
    names.store()


class _Names:
    def __init__(self, file: ProcessFile) -> None:
        self._file = file
        self._known: dict[str, int] = {}
        self._bytes = bytearray(file.strings)

    def add(self, text: str) -> int:
        if not text:
            return 0
        if text not in self._known:
            self._known[text] = len(self._bytes)
            self._bytes += text.encode() + b"\0"
        return self._known[text]

    def store(self) -> None:
        self._file.strings = bytes(self._bytes)


def _place(file: ProcessFile, address: int) -> SourceLocation:
    inside = (file.modules["begin"] <= address) & (address < file.modules["end"])
    found = file.modules[inside]
    if not len(found):
        return SourceLocation("?", address + 1)
    module = found[-1]
    # symbolise() looks one byte before, as return addresses want.
    return SourceLocation(file.text(int(module["path"])), address - int(module["base"]) + 1)


def _low(number: int) -> int:
    return number & 0xFFFFFFFF
