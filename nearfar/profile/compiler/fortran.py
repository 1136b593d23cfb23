"""`nearfar fc`: flang compiles Fortran to LLVM bitcode, and the clang of the same LLVM to objects.

flang can run the pass itself (-fpass-plugin), but has no assembler for the pass's notes.
"""

from __future__ import annotations

import glob
import os

from nearfar.profile.compiler.bitcode import command_for
from nearfar.profile.compiler.commandline import CompilerCommand, UsageError, parse
from nearfar.profile.compiler.driver import drive
from nearfar.profile.compiler.process import TemporaryFolder, ToolProcess
from nearfar.profile.compiler.toolchain import (
    PREFERRED,
    MissingError,
    Toolchain,
    find_reader,
    which,
)

_SOURCES = (".f90", ".f95", ".f03", ".f08", ".f", ".for", ".ftn")
_FOR_FLANG = ("-J", "-module-dir", "-I", "-D", "-U", "-x")
"""Options with a value that only flang uses, not the linker."""
_FOR_LINKER = ("-l", "-L", "-Wl,", "-o", "-shared", "-static", "-fopenmp", "-pthread", "-O", "-pie")
_FOR_LINKER_TOO = ("-rdynamic", "-no-pie", "-fuse-ld", "-r", "--nearfar-", "-Xlinker")
_PASS_THROUGH = ("-E", "-S", "-fsyntax-only", "--version", "--help", "-emit-llvm", "-###", "-v")
_RUNTIME = ("Fortran_main", "FortranRuntime", "FortranDecimal")


def fc(words: list[str]) -> int:
    """Compile and link Fortran as flang does; return the exit code."""
    flang, toolchain = _find(os.environ.get("NEARFAR_FLANG"))
    sources = [word for word in words if _is_source(word)]
    links = "-c" not in words and (sources or any(w.endswith((".o", ".a")) for w in words))
    if set(_PASS_THROUGH).intersection(words) or not (sources or links):
        os.execv(flang, [flang, *words])
    output = _output(words)
    if not links and output and len(sources) > 1:
        raise UsageError("-o names one object, and there are several sources: compile one at once")
    level = next((word for word in reversed(words) if word.startswith("-O")), "-O0")
    like = parse([word for word in words if word.startswith("--nearfar-")], os.environ)
    like.compiler = like.compiler or f"flang {toolchain.major}"
    with TemporaryFolder() as folder:
        made: dict[str, str] = {}
        options = _options(words)
        for source in sources:
            stem = os.path.splitext(os.path.basename(source))[0]
            bitcode, target = folder.file(stem + ".bc"), output or stem + ".o"
            made[source] = folder.file(stem + ".o") if links else target
            if code := ToolProcess(
                [flang, *options, "-emit-llvm", "-c", source, "-o", bitcode]
            ).wait():
                return code
            if code := drive(command_for(bitcode, made[source], level, like), toolchain):
                return code
        return drive(_link(words, made, like), toolchain) if links else 0


def _link(words: list[str], made: dict[str, str], like: CompilerCommand) -> CompilerCommand:
    """Return the link of the objects `made` and of all others, with flang's run-time library."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in _FOR_FLANG:
            next(remaining, None)
        elif word in ("-o", "-l", "-L", "-Xlinker"):
            kept += [word, next(remaining, "")]
        elif not word.startswith("-") or word.startswith(_FOR_LINKER + _FOR_LINKER_TOO):
            kept.append(made.get(word, word))
    command = parse([*kept, *_runtime(like)], os.environ)
    command.compiler = like.compiler
    return command


def _runtime(like: CompilerCommand) -> list[str]:
    """Return the options for flang's run-time library, whose parts differ between versions."""
    major = like.compiler.rpartition(" ")[2]
    folders = [f"/usr/lib/llvm-{major}/lib", *glob.glob(f"/usr/lib/llvm-{major}/lib/clang/*/lib/*")]
    options = [f"-L{folder}" for folder in folders]
    for name in _RUNTIME:
        if any(os.path.exists(os.path.join(folder, f"lib{name}.a")) for folder in folders):
            options.append(f"-l{name}")
    return [*options, "-lm"]


def _options(words: list[str]) -> list[str]:
    """Return the options for flang: all but the files, and what only links."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in ("-o", "-l", "-L", "-Xlinker"):
            next(remaining, None)
        elif word in _FOR_FLANG:
            kept += [word, next(remaining, "")]
        elif word.startswith("-") and not word.startswith(
            ("-l", "-L", "-Wl,", "-o", "-shared", "-static", "-c", "--nearfar-")
        ):
            kept.append(word)
    return kept


def _is_source(word: str) -> bool:
    return not word.startswith("-") and os.path.splitext(word)[1].lower() in _SOURCES


def _output(words: list[str]) -> str | None:
    for at, word in enumerate(words):
        if word.startswith("-o"):
            return word[2:] or (words[at + 1] if at + 1 < len(words) else None)
    return None


def _find(chosen: str | None) -> tuple[str, Toolchain]:
    """Find flang, and the clang of its version; `NEARFAR_FLANG` overrides."""
    names = [chosen] if chosen else [f"{n}-{m}" for m in PREFERRED for n in ("flang-new", "flang")]
    for name in names:
        flang = which(name)
        if flang is not None:
            major = os.path.realpath(flang).partition("llvm-")[2].partition("/")[0]
            major = major or name.rpartition("-")[2]
            if not major.isdigit():
                raise MissingError(f"the name {name} does not include its LLVM version")
            return flang, find_reader(major, os.environ)
    raise MissingError(
        f"flang was not found ({', '.join(names)}): apt-get install flang-{PREFERRED[0]}; or build "
        "with gfortran as always, and let `nearfar try -- ./program` answer without a rebuild"
    )
