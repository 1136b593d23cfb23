"""`nearfar cargo` and RUSTC_WRAPPER=nearfar: Rust crates with the nearfar pass.

rustc writes LLVM bitcode, as for link-time optimisation across languages. The clang with the pass
compiles the bitcode to instrumented objects, which contain the plain ones. Build scripts and
procedural macros run during the build, so they are linked from plain objects.
"""

from __future__ import annotations

import os
import subprocess
import sys

from nearfar.profile.compiler.bitcode import compile_members
from nearfar.profile.compiler.commandline import parse
from nearfar.profile.compiler.driver import drive
from nearfar.profile.compiler.process import ToolProcess
from nearfar.profile.compiler.toolchain import MissingError, find_reader, which

_DROPPED = ("lto", "embed-bitcode", "incremental", "strip", "linker", "linker-plugin-lto")
"""Codegen options that the wrapper decides itself. Link-time optimisation would hide the calls of
the pass among those of the whole program."""
_BUILDS = frozenset(("build", "b", "run", "r", "test", "t", "bench", "install", "rustc"))


class RustCompiler:
    """The version of a rustc, and of the LLVM in it."""

    def __init__(self, words: list[str]) -> None:
        answer = subprocess.run([*words, "-vV"], capture_output=True, text=True, check=False).stdout
        rows = dict(row.split(": ", 1) for row in answer.splitlines() if ": " in row)
        self.version = "rustc " + rows.get("release", "of an unknown version")
        self.major = rows.get("LLVM version", "").partition(".")[0]

    def why_not(self) -> str:
        """Return why this rustc's programs cannot be instrumented here; "" if they can."""
        if not self.major.isdigit():
            return f"{self.version} does not state its LLVM version"
        try:
            find_reader(self.major, os.environ)
        except MissingError as error:
            return f"{self.version} writes for LLVM {self.major}, and {error}"
        return ""


def cargo(words: list[str]) -> int:
    """Run cargo and instrument its crates; without a matching LLVM, run cargo unchanged."""
    program = which("cargo")
    rustc = which(os.environ.get("RUSTC", "rustc"))
    if program is None or rustc is None:
        raise MissingError("cargo and rustc were not found in PATH: install Rust (rustup.rs)")
    toolchain = [word for word in words[:1] if word.startswith("+")]
    environment = dict(os.environ)
    reason = RustCompiler([rustc, *toolchain]).why_not()
    if reason:
        print(
            f"nearfar cargo: {reason}; the build is cargo's own, with line tables, for "
            "`nearfar try -- PROGRAM`, which needs no other",
            file=sys.stderr,
        )
        for profile in ("RELEASE", "BENCH"):
            environment.setdefault(f"CARGO_PROFILE_{profile}_DEBUG", "1")
            environment.setdefault(f"CARGO_PROFILE_{profile}_STRIP", "none")
        os.execve(program, [program, *words], environment)
    environment["RUSTC_WRAPPER"] = _beside("nearfar")
    environment.setdefault("CC", _beside("nearfar-cc"))
    environment.setdefault("CXX", _beside("nearfar-c++"))
    folder = environment.get("CARGO_TARGET_DIR")
    is_build = bool(_BUILDS.intersection(words[len(toolchain) :][:1]))
    if folder is None and is_build and not any(w.startswith("--target-dir") for w in words):
        # In the user's own folder, cargo would reuse objects that are not instrumented.
        folder = os.path.join(_workspace(program, toolchain), "target", "nearfar")
        environment["CARGO_TARGET_DIR"] = folder
    code = subprocess.run([program, *words], env=environment, check=False).returncode
    if code == 0 and folder is not None and is_build:
        print(f"nearfar cargo: the instrumented build is in {folder}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _workspace(program: str, toolchain: list[str]) -> str:
    """Return the folder of the workspace, or the current one."""
    words = [program, *toolchain, "locate-project", "--workspace", "--message-format", "plain"]
    answer = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return os.path.dirname(answer) or os.getcwd()


def rustc(program: str, words: list[str]) -> int:
    """Compile one crate, as cargo asks its RUSTC_WRAPPER to."""
    if not any(word.endswith(".rs") for word in words) or not _links(words):
        os.execvp(program, [program, *words])
    compiler = RustCompiler([program])
    if compiler.why_not():
        os.execvp(program, [program, *words])
    if _runs_in_build(words):
        options = ["-C", f"linker={_beside('nearfar-cc')}", "-C", "link-arg=--nearfar-only-plain"]
        return ToolProcess([_path(program), *_kept(words, ("linker",)), *options]).wait()
    toolchain = find_reader(compiler.major, os.environ)
    options = ["-C", "linker-plugin-lto", "-C", f"linker={_beside('nearfar-cc')}"]
    options += ["-C", "strip=none", "-C", f"link-arg=--nearfar-compiler={compiler.version}"]
    if not any(value.startswith("debuginfo=") for value in _codegen(words)) and "-g" not in words:
        options += ["-C", "debuginfo=2"]
    environment = {**os.environ, "NEARFAR_CLANG": toolchain.clang}
    code = ToolProcess([_path(program), *_kept(words, _DROPPED), *options], environment).wait()
    like = parse([f"--nearfar-compiler={compiler.version}"], os.environ)
    for path in _archives(words) if code == 0 else []:
        if code := compile_members(path, _level(words), like, toolchain, drive):
            break
    return code


def _path(program: str) -> str:
    return which(program) or program


def _beside(name: str) -> str:
    """Return the path of another program of this installation."""
    # `python -m nearfar` has its programs beside Python.
    folders = [os.path.dirname(os.path.abspath(path)) for path in (sys.argv[0], sys.executable)]
    neighbours = [os.path.join(folder, name) for folder in folders]
    path = next((path for path in neighbours if os.access(path, os.X_OK)), which(name))
    if path is None:
        raise MissingError(f"the program {name} was not found in PATH: install nearfar's programs")
    return path


def _values(words: list[str], *options: str) -> list[str]:
    """Return the values of an option, written as ``--option value`` or ``--option=value``."""
    values = []
    for at, word in enumerate(words):
        for option in options:
            if word == option and at + 1 < len(words):
                values.append(words[at + 1])
            elif word.startswith(option + "="):
                values.append(word[len(option) + 1 :])
    return values


def _codegen(words: list[str]) -> list[str]:
    joined = [word[2:] for word in words if word.startswith("-C") and len(word) > 2]
    return joined + _values(words, "-C", "--codegen")


def _kept(words: list[str], dropped: tuple[str, ...]) -> list[str]:
    """Return `words` without the codegen options `dropped`, and without ``debuginfo=0``."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in ("-C", "--codegen"):
            value = next(remaining, "")
        elif word.startswith("-C") or word.startswith("--codegen="):
            value = word.removeprefix("--codegen=").removeprefix("-C")
        else:
            kept.append(word)
            continue
        if value.partition("=")[0] not in dropped:
            kept += [
                "-C",
                value if value not in ("debuginfo=0", "debuginfo=none") else "debuginfo=2",
            ]
    return kept


def _links(words: list[str]) -> bool:
    emitted = ",".join(_values(words, "--emit")).split(",")
    return emitted == [""] or any(part.partition("=")[0] == "link" for part in emitted)


def _runs_in_build(words: list[str]) -> bool:
    names = _values(words, "--crate-name")
    kinds = _values(words, "--crate-type")
    return "proc-macro" in kinds or any(name.startswith("build_script_") for name in names)


def _level(words: list[str]) -> str:
    levels = [v.partition("=")[2] for v in _codegen(words) if v.startswith("opt-level=")]
    level = levels[-1] if levels else ("2" if "-O" in words else "0")
    return "-O" + level


def _archives(words: list[str]) -> list[str]:
    """Return the archives that rustc wrote: the crate as a library."""
    sources = [os.path.basename(word)[:-3] for word in words if word.endswith(".rs")]
    name = (_values(words, "--crate-name") or sources)[-1].replace("-", "_")
    endings = [v.partition("=")[2] for v in _codegen(words) if v.startswith("extra-filename=")]
    stem = f"lib{name}{endings[-1] if endings else ''}"
    folder = (_values(words, "--out-dir") or ["."])[-1]
    given = _values(words, "-o")
    paths = given or [os.path.join(folder, stem + end) for end in (".rlib", ".a")]
    return [path for path in paths if os.path.isfile(path)]
