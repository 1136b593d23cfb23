"""LLVM bitcode among a link's objects: compiled here, since linkers would leave the pass out."""

from __future__ import annotations

import os
from collections.abc import Callable

from nearfar.profile.compiler.archive import is_archive, members
from nearfar.profile.compiler.commandline import CompilerCommand, parse
from nearfar.profile.compiler.process import TemporaryFolder, ToolProcess
from nearfar.profile.compiler.toolchain import Toolchain

_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""First bytes of bitcode, and of bitcode in a wrapper."""
_OPTIONS = ("-fPIC", "-ffunction-sections", "-fdata-sections", "-Wno-override-module")
"""Options that compilers leave to the linker if they give it bitcode."""
_FOR_PLUGIN = "-plugin-opt="

Drive = Callable[[CompilerCommand, Toolchain], int]


def is_bitcode(path: str) -> bool:
    """Return whether `path` is a file of LLVM bitcode."""
    try:
        with open(path, "rb") as file:
            return file.read(4) in _MAGIC
    except OSError:
        return False


def compile_objects(
    command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder, drive: Drive
) -> int:
    """Replace each object of bitcode in a link by a compiled one; return the exit code."""
    words = command.arguments
    of_bitcode = [at for at in command.objects if is_bitcode(words[at])]
    if not of_bitcode:
        return 0
    level = command.optimisation or _level(words)
    for at in of_bitcode:
        output = folder.file(os.path.basename(words[at]))
        if code := drive(command_for(words[at], output, level, command), toolchain):
            return code
        words[at] = output
    for at, word in enumerate(words):
        if word.startswith("-Wl,") and _FOR_PLUGIN in word:
            # Only a linker that reads bitcode itself knows these options.
            kept = [part for part in word.split(",")[1:] if not part.startswith(_FOR_PLUGIN)]
            words[at] = ",".join(["-Wl", *kept]) if kept else "-Wl,--as-needed"
    return 0


def compile_members(
    path: str, level: str, like: CompilerCommand, toolchain: Toolchain, drive: Drive
) -> int:
    """Replace the members of bitcode in the archive `path` by compiled ones."""
    if not is_archive(path):
        return 0
    with TemporaryFolder() as folder, TemporaryFolder() as inputs:
        files: list[str] = []
        is_changed = False
        for member in members(path):
            content = member.read()
            kept = folder.named(member.name)
            files.append(kept)
            source = inputs.file("member") if content.startswith(_MAGIC) else kept
            with open(source, "wb") as file:
                file.write(content)
            if source != kept:
                is_changed = True
                if code := drive(command_for(source, kept, level, like), toolchain):
                    return code
        if not is_changed:
            return 0
        made = f"{path}.nearfar-{os.getpid()}"
        code = ToolProcess([toolchain.archiver, "rcsD", made, *files]).wait()
        if code == 0:
            os.replace(made, path)
        return code


def command_for(source: str, output: str, level: str, like: CompilerCommand) -> CompilerCommand:
    """Return the compile of bitcode to an object, with nearfar's own options as in `like`."""
    words = [*_OPTIONS, level, "-x", "ir", "-c", source, "-o", output]
    command = parse([word for word in words if word], {})
    command.rate = like.rate
    command.wants_plain = like.wants_plain
    command.compiler = like.compiler
    return command


def _level(words: list[str]) -> str:
    """Return the -O option that the compiler asks the linker for."""
    for word in words:
        for part in word.split(","):
            if part.startswith(_FOR_PLUGIN + "O"):
                return "-" + part.removeprefix(_FOR_PLUGIN)
    return "-O2"
