"""One call of the compiler: it passes through, compiles twice, or links twice."""

from __future__ import annotations

import os
import sys

from nearfar.profile.compiler import elf
from nearfar.profile.compiler.allocators import wrapping
from nearfar.profile.compiler.bitcode import compile_objects
from nearfar.profile.compiler.commandline import (
    LESS_THAN_TYPES,
    CompilerCommand,
    without_side_files,
)
from nearfar.profile.compiler.plain import (
    LINK_SECTION,
    NOTE_SECTION,
    PlainInputs,
    embed,
)
from nearfar.profile.compiler.process import TemporaryFolder, ToolProcess
from nearfar.profile.compiler.refused import explain
from nearfar.profile.compiler.toolchain import Toolchain

# With link-time optimisation the object is bitcode, on which the pass would not run. Only the plain
# twin keeps these options.
_LTO = ("-flto", "-fwhole-program-vtables", "-fvirtual-function-elimination", "-fsplit-lto-unit")

_TWIN_OPTIONS = (
    "-gline-tables-only",
    "-fdebug-info-for-profiling",
    "-Wno-unused-command-line-argument",  # for assembly, which does not use them, with -Werror
)
"""Options of the plain twin, whose allocation sites `run` and `--bursts` identify by line and
inlined call. The second keeps full names of inlined functions. None changes code."""

_TYPE_OPTIONS = ("-g", "-Xclang", "-debug-info-kind=limited")
"""Options by which the pass knows the fields of every type that the source uses. By default clang
leaves a C++ class to the file that defines its constructor."""


def drive(command: CompilerCommand, toolchain: Toolchain) -> int:
    """Run `command` and return the compiler's exit code."""
    if command.pass_through:
        os.execv(toolchain.clang, [toolchain.clang, *command.arguments])
    with TemporaryFolder() as folder:
        if command.reads_stdin:
            _keep_stdin(command, folder)
        if command.compile_only:
            return explain(command, toolchain, _compile(command, toolchain, folder))
        if command.relocatable:
            # The output contains the twins of all inputs.
            return ToolProcess([toolchain.clang, *command.arguments]).wait()
        if command.static or command.only_plain:
            return _link_plainly(command, toolchain, folder)
        if code := compile_objects(command, toolchain, folder, drive):
            return code
        return explain(command, toolchain, _link(command, toolchain, folder))


def _keep_stdin(command: CompilerCommand, folder: TemporaryFolder) -> None:
    """Copy standard input to a file, since both compiles read it."""
    path = folder.file("stdin")
    with open(path, "wb") as file:
        while block := sys.stdin.buffer.read(1 << 20):
            file.write(block)
    command.stdin_file = path


def _compile(command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder) -> int:
    """Compile the sources with and without the pass, and embed the plain objects in the others."""
    sources = [command.arguments[position] for position in command.sources]
    if not sources:
        code = ToolProcess([toolchain.clang, *command.arguments]).wait()
        _note_assembly(command, code)
        return code
    if command.wants_plain:
        folder.make()
    instrumented = ToolProcess(
        _instrumented(command, toolchain), _environment(command, toolchain), command.stdin_file
    )
    twins = _plain_compiles(command, toolchain, folder) if command.wants_plain else []
    code = instrumented.wait()
    for process, twin, output in twins:
        if process.wait() == 0 and code == 0:
            with whole_or_absent(output):
                embed(output, twin, elf.SHF_EXCLUDE)
    _note_assembly(command, code)
    return code


def _plain_compiles(
    command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder
) -> list[tuple[ToolProcess, str, str]]:
    """Start a plain compile of each source; return process, twin, and the object to embed it in."""
    result = []
    inputs = {*command.sources, *command.assembly, *command.objects}
    for position in command.sources:
        source = command.arguments[position]
        twin = folder.file("plain.o")
        kept = [
            word
            for index, word in enumerate(command.arguments)
            if index == position or index not in inputs
        ]
        arguments = [toolchain.clang, *without_side_files(kept), *_TWIN_OPTIONS, "-o", twin]
        process = ToolProcess(arguments, None, command.stdin_file, quiet=True)
        result.append((process, twin, command.output_of(source)))
    return result


def _note_assembly(command: CompilerCommand, code: int) -> None:
    if code != 0:
        return
    for position in command.assembly:
        source = command.arguments[position]
        line = f"assembly\t{os.path.abspath(source)}\n"
        output = command.output_of(source)
        if os.path.isfile(output):
            elf.add_section(output, NOTE_SECTION, [line.encode("utf-8", "surrogateescape")], 0)


def _link(command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder) -> int:
    """Link the instrumented and the plain program, and embed the plain one as the twin."""
    output = command.output or "a.out"
    folder.make()
    before, after = wrapping(command, toolchain)
    compiled = [*_instrumented(command, toolchain), *before, *after]
    arguments = _with_library(compiled, toolchain.runtime, toolchain)
    instrumented = ToolProcess(arguments, _environment(command, toolchain), command.stdin_file)
    plain = PlainInputs(command, toolchain, folder)
    twin = folder.file(os.path.basename(output))
    twin_code = None
    if command.wants_plain:
        words = [toolchain.clang, *without_side_files(plain.arguments), *_TWIN_OPTIONS, "-o", twin]
        words = _with_library(words, toolchain.marks, toolchain)
        twin_code = ToolProcess(words, None, command.stdin_file, quiet=True).wait()
    code = instrumented.wait()
    if code != 0:
        return code
    notes = [f"foreign\t{text}" for text in plain.foreign]
    notes += [
        f"assembly\t{os.path.abspath(command.arguments[position])}" for position in command.assembly
    ]
    if any(word.startswith("-flto") for word in command.arguments):
        notes.append("lto\tlink-time optimisation is in the plain program only")
    if twin_code is None:
        notes.append("no-plain\tbuilt with NEARFAR_PLAIN=0 or --nearfar-no-plain")
    elif twin_code != 0:
        notes.append(f"no-plain\tthe plain program could not be linked (exit code {twin_code})")
    text = "".join(note + "\n" for note in notes).encode("utf-8", "surrogateescape")
    with whole_or_absent(output):
        if twin_code == 0:
            embed(output, twin, 0)
        elf.add_section(output, LINK_SECTION, [text], 0)
    return 0


class whole_or_absent:  # noqa: N801 (used like a function; contextlib costs its import)
    """Removes `path` if the block fails, so that a build does not assume it is complete."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing is to be done before the block."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and os.path.exists(self._path):
            os.unlink(self._path)


def _link_plainly(command: CompilerCommand, toolchain: Toolchain, folder: TemporaryFolder) -> int:
    if not command.only_plain:
        print(
            f"nearfar {toolchain.driver}: {command.output or 'a.out'} is linked with -static, "
            "which cannot hold the run-time library: it is the plain program, and nearfar cannot "
            "profile it",
            file=sys.stderr,
        )
    plain = PlainInputs(command, toolchain, folder)
    return ToolProcess([toolchain.clang, *plain.arguments], None, command.stdin_file).wait()


def _instrumented(command: CompilerCommand, toolchain: Toolchain) -> list[str]:
    words = [word for word in command.arguments if not word.startswith(_LTO)]
    result = [toolchain.clang]
    if command.sources:
        # clang loads the pass and reports its errors; accesses need lines, types and fields.
        result.append(f"-fpass-plugin={toolchain.plugin}")
        # After a crash, clang would preprocess the source for minutes for a report.
        result.append("-fno-crash-diagnostics")
        if not command.has_debug_information:
            words = [word for word in words if word not in LESS_THAN_TYPES]
            result += _TYPE_OPTIONS
    return result + words


def _environment(command: CompilerCommand, toolchain: Toolchain) -> dict[str, str]:
    compiler = command.compiler or f"clang {toolchain.major}"
    text = f"{compiler} {command.optimisation or '-O0'}"
    return {
        **os.environ,
        "NEARFAR_RATE_LOG2": str(command.rate.bit_length() - 1),
        "NEARFAR_COMPILER_TEXT": text,
        # After the pass has read the types, it removes those that the user did not request.
        "NEARFAR_ONLY_LINES": "0" if command.has_debug_information else "1",
    }


def _with_library(words: list[str], library: str, toolchain: Toolchain) -> list[str]:
    """Put `library` before all others, so that its malloc is found before libc's."""
    options = [
        "-Wl,--push-state,--no-as-needed",
        library,
        "-Wl,--pop-state",
        f"-Wl,-rpath,{toolchain.native}",
        # A search path below LD_LIBRARY_PATH, by which plain twins of shared libraries are loaded.
        "-Wl,--enable-new-dtags",
    ]
    return [words[0], *options, *words[1:]]
