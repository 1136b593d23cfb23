"""The plain twin inside an instrumented file: embedding, finding and extracting it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from nearfar.profile.compiler import elf
from nearfar.profile.compiler.archive import is_archive, members
from nearfar.profile.compiler.commandline import CompilerCommand, files_in
from nearfar.profile.compiler.process import TemporaryFolder, ToolProcess
from nearfar.profile.compiler.toolchain import Toolchain

SECTION = ".nearfar.plain"
NOTE_SECTION = ".nearfar.note"
"""Section of the pass's notes: lines of words separated by tabs (native/profile/pass)."""
LINK_SECTION = ".nearfar.link"
"""Section of the driver's notes on a link, in the same form."""

_MAGIC = b"NFPLAIN1"

_LIBRARIES = {
    "/rustlib/": "Rust's standard library\tits generic code, such as Vec and HashMap, is in the "
    "crates that use it, and was",
    "/libFortran": "flang's run-time library\tinput, output and functions of whole arrays",
}
"""Language libraries without twins: part of the archive's path, and a note that is printed once."""


def embed(path: str, twin: str, flags: int) -> None:
    """Embed the file `twin` in `path`."""
    with open(twin, "rb") as file:
        content = file.read()
    elf.add_section(path, SECTION, [_MAGIC, len(content).to_bytes(8, "little"), content], flags)


def unpack(section: bytes) -> list[bytes]:
    """Return the twins in a section; `ld -r` concatenates those of its inputs."""
    twins: list[bytes] = []
    at = 0
    while section[at : at + 8] == _MAGIC:
        size = int.from_bytes(section[at + 8 : at + 16], "little")
        twins.append(section[at + 16 : at + 16 + size])
        at += 16 + size
    return twins


def twins_of(path: str) -> list[bytes]:
    """Return the plain twins in the ELF file `path`."""
    with open(path, "rb") as file:
        section = elf.read_section(file, SECTION)
    return unpack(section) if section else []


class PlainInputs:
    """A link's arguments with every instrumented input replaced by its plain twin."""

    def __init__(
        self, command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder
    ) -> None:
        self.foreign: list[str] = []
        """Inputs that nearfar did not compile: a file, or some members of an archive."""
        self._toolchain = toolchain
        self._folder = folder
        self._command = command
        self._known: dict[str, list[str]] = {}
        replaced = {position: self._replace(position) for position in command.objects}
        self.arguments: list[str] = []
        for position, word in enumerate(command.arguments):
            self.arguments += replaced.get(position, [word])

    def _replace(self, position: int) -> list[str]:
        word = self._command.arguments[position]
        if word.startswith("-l"):
            archive = self._library(word[2:])
            if archive is None:
                return [word]
            plain = self._plain(archive)
            return [word] if plain == [archive] else plain
        if word.startswith("-Wl,"):
            parts = word.split(",")
            for file in files_in(word):
                if os.path.isfile(file):
                    at = parts.index(file)
                    parts[at : at + 1] = self._plain(file)
            return [",".join(parts)]
        return self._plain(word) if os.path.isfile(word) else [word]

    def _library(self, name: str) -> str | None:
        """Return the archive that ``-l name`` means, if it is one from a folder given by -L."""
        names = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        for folder in self._command.library_folders:
            for candidate in names:
                path = os.path.join(folder, candidate)
                if os.path.isfile(path):
                    return path if path.endswith(".a") else None
        return None

    def _plain(self, path: str) -> list[str]:
        """Return the files that replace the input `path` in the plain link."""
        known = self._known.get(path)
        if known is None:
            try:
                known = self._make(path)
            except (ValueError, struct.error):
                known = [path]  # damaged: the linker reports it
            self._known[path] = known
        return known

    def _make(self, path: str) -> list[str]:
        if is_archive(path):
            return [self._make_archive(path)]
        with open(path, "rb") as file:
            all_sections = elf.sections(file)
            names = {section.name: section for section in all_sections}
            if SECTION not in names:
                has_code = any(section.is_code for section in all_sections)
                if path.endswith((".o", ".obj", ".lo")) and has_code and NOTE_SECTION not in names:
                    self.foreign.append(f"{path}\tthe whole file")
                return [path]
            if not path.endswith((".o", ".lo", ".obj")) and ".dynamic" in names:
                return [path]  # a shared library: its twin is loaded when the program runs
            section = names[SECTION]
            file.seek(section.offset)
            twins = unpack(file.read(section.size))
        return [self._write(os.path.basename(path), twin) for twin in twins]

    def _make_archive(self, path: str) -> str:
        """Return an archive of the plain twins of the members of `path`."""
        for sign, note in _LIBRARIES.items():
            if sign in path:
                if note not in self.foreign:
                    self.foreign.append(note)
                return path
        files: list[str] = []
        without = 0
        any_twin = False
        for member in members(path):
            with open(member.path, "rb") as file:
                section = elf.read_section(file, SECTION, member.start)
                noted = section or elf.read_section(file, NOTE_SECTION, member.start)
            without += not noted and member.name != "lib.rmeta"
            if section:
                any_twin = True
                files += [self._write(member.name, twin) for twin in unpack(section)]
            else:
                files.append(self._write(member.name, member.read()))
        if without:
            self.foreign.append(f"{path}\t{without} of {len(files)} objects in it")
        if not any_twin:
            return path
        plain = self._folder.file(os.path.basename(path))
        ToolProcess([self._toolchain.archiver, "rcsD", plain, *files], quiet=True).wait()
        return plain

    def _write(self, name: str, content: bytes) -> str:
        path = self._folder.file(os.path.basename(name))
        with open(path, "wb") as file:
            file.write(content)
        return path


def note_lines(section: bytes | None) -> Iterator[list[str]]:
    """Yield the words of each line of a note section."""
    for line in (section or b"").decode("utf-8", "replace").replace("\0", "").splitlines():
        if line:
            yield line.split("\t")
