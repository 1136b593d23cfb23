"""Allocators that a program links: their entry points are wrapped, so that blocks are objects."""

from __future__ import annotations

import os

from nearfar.profile.compiler.archive import symbols
from nearfar.profile.compiler.commandline import CompilerCommand
from nearfar.profile.compiler.toolchain import Toolchain

_WRAPPED = "__wrap_"
_STANDARD = frozenset(
    "malloc calloc aligned_alloc memalign valloc posix_memalign realloc free".split()
)
_OPERATORS = ("_Zn", "_Zd")
_SHARED = ("-ljemalloc", "-lmimalloc", "-ltcmalloc")
"""Shared allocators: their malloc is seen without wrappers, their operator new is not."""
_SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/local/lib")


def wrapping(command: CompilerCommand, toolchain: Toolchain) -> tuple[list[str], list[str]]:
    """Return a link's options before its inputs, and its words after them."""
    library = toolchain.allocators
    if not os.path.exists(library):
        return [], []
    names = [name.removeprefix(_WRAPPED) for name in symbols(library) if name.startswith(_WRAPPED)]
    words = [command.arguments[at] for at in command.objects]
    again = [word for word in words if word.endswith(".a") or word.startswith("-l")]
    own_malloc = any("malloc" in symbols(path) for path in _archives(command, again))
    own_new = own_malloc or any(word.startswith(_SHARED) for word in again)
    kept = [
        name
        for name in names
        if (own_malloc or name not in _STANDARD) and (own_new or not name.startswith(_OPERATORS))
    ]
    # The wrappers call functions of archives that the linker has already read, and vice versa.
    after = ["-Wl,--start-group", library, *again, "-Wl,--end-group"]
    return ["-Wl," + ",".join(f"--wrap={name}" for name in kept)], after


def _archives(command: CompilerCommand, words: list[str]) -> list[str]:
    """Return the archives among a link's inputs."""
    paths = [word for word in words if word.endswith(".a") and not word.startswith("-")]
    for word in words:
        if not word.startswith("-l"):
            continue
        name = word[3:] if word.startswith("-l:") else f"lib{word[2:]}.a"
        for folder in (*command.library_folders, *_SYSTEM_FOLDERS):
            shared = os.path.join(folder, name.removesuffix(".a") + ".so")
            if not command.static and not word.startswith("-l:") and os.path.exists(shared):
                break
            if os.path.exists(path := os.path.join(folder, name)):
                paths.append(path)
                break
    return [path for path in paths if path.endswith(".a") and os.path.isfile(path)]
