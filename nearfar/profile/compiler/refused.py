"""After a failed compile: what this clang lacks, or that only gcc compiles this project."""

from __future__ import annotations

import os
import sys

from nearfar.profile.compiler.commandline import CompilerCommand, without_side_files
from nearfar.profile.compiler.process import ToolProcess
from nearfar.profile.compiler.toolchain import Toolchain, which

_GCC = {"cc": "gcc", "c++": "g++"}


def explain(command: CompilerCommand, toolchain: Toolchain, code: int) -> int:
    """Return the exit code `code`; after a failure, print the remedy if it is known."""
    if code == 0:
        return code
    if "-fopenmp" in command.arguments and not _has_openmp(toolchain):
        _say(
            toolchain,
            f"clang's OpenMP is not installed: apt-get install libomp-{toolchain.major}-dev",
        )
    elif gcc := _gcc_that_compiles(command, toolchain):
        _say(
            toolchain,
            f"clang {toolchain.major} refuses what {gcc} compiles: build the program with {gcc} "
            "as always, and let `nearfar try -- ./program` answer without a rebuild",
        )
    return code


def _say(toolchain: Toolchain, text: str) -> None:
    print(f"nearfar {toolchain.driver}: {text}", file=sys.stderr)


def _has_openmp(toolchain: Toolchain) -> bool:
    root = os.path.dirname(os.path.dirname(os.path.realpath(toolchain.clang)))
    return os.path.exists(os.path.join(root, "lib", "clang", toolchain.major, "include", "omp.h"))


def _gcc_that_compiles(command: CompilerCommand, toolchain: Toolchain) -> str | None:
    """Return the name of the GNU compiler that takes the same sources and options, or None."""
    name = _GCC[toolchain.driver]
    gcc = which(name)
    sources = [command.arguments[position] for position in command.sources]
    if gcc is None or not sources or command.reads_stdin:
        return None
    if any(source.endswith((".ll", ".bc")) for source in sources):
        return None
    linked = {*command.assembly, *command.objects}
    kept = [word for at, word in enumerate(command.arguments) if at not in linked]
    words = [*without_side_files(kept), "-fsyntax-only"]
    if ToolProcess([toolchain.clang, *words], quiet=True).wait() == 0:
        return None  # the link failed
    return name if ToolProcess([gcc, *words], quiet=True).wait() == 0 else None
