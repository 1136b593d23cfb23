"""A compiler's command line, parsed to its action, its files, and unchanged other options."""

from __future__ import annotations

import os
from collections.abc import Mapping

RATES = tuple(1 << power for power in range(13))
"""Sampling rates that the pass accepts: one line in 1 (every access) to one in 4096."""

DEFAULT_RATE = 64
"""One line of every page: errors below 2 % per instruction at the lowest cost (row `tracing`)."""

# Options whose value is the next argument.
_WITH_VALUE = frozenset(
    "-o -x -I -L -D -U -F -T -u -z -e -l -A -B -G -b -h -MF -MT -MQ -MJ -include -imacros -isystem"
    " -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot -ivfsoverlay"
    " -cxx-isystem -Xlinker -Xclang -Xpreprocessor -Xassembler -Xopenmp-target -mllvm -target -arch"
    " --sysroot --param -wrapper -rpath -soname -serialize-diagnostics --serialize-diagnostics"
    " -dumpbase -dumpbase-ext -dumpdir -aux-info -working-directory -gcc-toolchain".split()
)

# With one of these, nothing is compiled to an object or linked: clang runs unchanged.
_PASS_THROUGH = frozenset(
    "-E -M -MM -S -fsyntax-only -### --version -dumpversion -dumpmachine -dumpspecs --help"
    " -emit-llvm -emit-ast --analyze -save-temps -cc1 -cc1as --precompile -m32 -mx32".split()
)
_PASS_THROUGH_STARTS = ("-print-", "--print-", "-save-temps=", "--help-", "-help", "-fmodules")

_SOURCE = frozenset(".c .i .cc .cp .cxx .cpp .CPP .c++ .C .ii .m .mm .ll .bc".split())
_ASSEMBLY = frozenset(".s .S .sx .asm".split())
_SOURCE_LANGUAGES = frozenset(("c", "c++", "cpp-output", "c++-cpp-output", "ir"))
_ASSEMBLY_LANGUAGES = frozenset(("assembler", "assembler-with-cpp"))

# Options that write further files, which the plain compile must not write again.
_SIDE_FILES = frozenset(("-MD", "-MMD", "-MP", "-MG", "--coverage", "-ftime-trace"))
_SIDE_FILES_WITH_VALUE = frozenset(
    ("-MF", "-MT", "-MQ", "-MJ", "-serialize-diagnostics", "--serialize-diagnostics")
)

LESS_THAN_TYPES = frozenset(("-g0", "-g1", "-gmlt", "-gline-tables-only", "-gline-directives-only"))
"""Options that ask for less debug information than types and fields."""


class UsageError(Exception):
    """A wrong command line; its text is one sentence."""


class CompilerCommand:
    """A parsed command line; positions index `arguments`."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        """The user's words without nearfar's options, response files expanded."""
        self.rate = DEFAULT_RATE
        self.wants_plain = True
        self.pass_through = False
        self.compile_only = False
        self.relocatable = False
        self.static = False
        self.shared = False
        self.output: str | None = None
        self.sources: list[int] = []
        self.assembly: list[int] = []
        self.objects: list[int] = []
        """Positions of files for the linker: objects, archives, libraries."""
        self.library_folders: list[str] = []
        self.reads_stdin = False
        self.stdin_file: str | None = None
        """Copy of standard input, since two compilers read it."""
        self.has_debug_information = False
        """Whether debug information with types is asked for."""
        self.optimisation = ""
        self.compiler = ""
        """The compiler that made LLVM IR of the source, such as "rustc 1.72.1"; "": clang."""
        self.only_plain = False
        """Whether to link the plain twins alone: a program that runs while others are built."""

    def output_of(self, source: str) -> str:
        """Return the object that compiling `source` alone writes."""
        if self.output is not None:
            return self.output
        return os.path.splitext(os.path.basename(source))[0] + ".o"


def parse(words: list[str], environment: Mapping[str, str]) -> CompilerCommand:
    """Parse a compiler's arguments; `environment` gives NEARFAR_RATE and NEARFAR_PLAIN."""
    command = CompilerCommand()
    command.wants_plain = environment.get("NEARFAR_PLAIN", "1") != "0"
    if rate := environment.get("NEARFAR_RATE"):
        command.rate = _rate(rate, "NEARFAR_RATE")
    language: str | None = None
    arguments = command.arguments
    pending = _expand(words)
    pending.reverse()
    while pending:
        word = pending.pop()
        if word.startswith("--nearfar-"):
            _nearfar_option(command, word)
            continue
        position = len(arguments)
        arguments.append(word)
        if word == "-" or not word.startswith("-"):
            _input(command, word, position, language)
        elif word in _WITH_VALUE:
            if not pending:
                command.pass_through = True  # clang reports what is missing
                continue
            value = pending.pop()
            arguments.append(value)
            if word == "-x":
                language = None if value == "none" else value
                if value.endswith("-header"):
                    command.pass_through = True
            elif word == "-o":
                command.output = value
            elif word == "-L":
                command.library_folders.append(value)
            elif word == "-l":
                arguments.pop()
                arguments[position] = "-l" + value
                command.objects.append(position)
        else:
            language = _option(command, word, position, language)
    if not (command.sources or command.assembly or command.objects):
        command.pass_through = True
    if command.output is not None and not _is_plain_file(command.output):
        command.pass_through = True
    return command


def _option(command: CompilerCommand, word: str, position: int, language: str | None) -> str | None:
    """Parse an option without a separate value; return the language of the inputs after it."""
    if word in _PASS_THROUGH or word.startswith(_PASS_THROUGH_STARTS):
        command.pass_through = True
    elif word == "-c":
        command.compile_only = True
    elif word in ("-static", "-static-pie", "--static"):
        command.static = True
    elif word in ("-shared", "--shared"):
        command.shared = True
    elif word in ("-r", "-Wl,-r", "-Wl,--relocatable"):
        command.relocatable = True
    elif word.startswith("-o"):
        command.output = word[2:]
    elif word.startswith("-x"):
        if word.endswith("-header"):
            command.pass_through = True
        return None if word == "-xnone" else word[2:]
    elif word.startswith("-L"):
        command.library_folders.append(word[2:])
    elif word.startswith("-l") or (word.startswith("-Wl,") and files_in(word)):
        command.objects.append(position)
    elif word.startswith("-O"):
        command.optimisation = word
    elif word.startswith("-g") and not word.startswith(
        ("-gcc", "-gsplit", "-gz", "-gno-", "-grec")
    ):
        command.has_debug_information = word not in LESS_THAN_TYPES
    return language


def files_in(word: str) -> list[str]:
    """Return the objects and archives named in a ``-Wl,`` option."""
    return [part for part in word.split(",") if part.endswith((".a", ".o", ".lo"))]


def _input(command: CompilerCommand, word: str, position: int, language: str | None) -> None:
    extension = os.path.splitext(word)[1]
    if word in ("-", "/dev/stdin"):
        command.reads_stdin = True
    if language in _SOURCE_LANGUAGES or (language is None and extension in _SOURCE):
        command.sources.append(position)
    elif language in _ASSEMBLY_LANGUAGES or (language is None and extension in _ASSEMBLY):
        command.assembly.append(position)
    elif language is None and extension in (".h", ".hh", ".hpp", ".hxx", ".H", ".pcm"):
        command.pass_through = True
    elif language is None and word != "-":
        command.objects.append(position)
    else:
        command.pass_through = True  # another language: left to clang


def _nearfar_option(command: CompilerCommand, word: str) -> None:
    name, _, value = word.partition("=")
    if name == "--nearfar-rate":
        command.rate = _rate(value, name)
    elif name == "--nearfar-compiler":
        command.compiler = value
    elif word == "--nearfar-only-plain":
        command.only_plain = True
    elif word == "--nearfar-no-plain":
        command.wants_plain = False
    else:
        raise UsageError(
            f"there is no option {word!r}; there are --nearfar-rate=N and --nearfar-no-plain"
        )


def _rate(text: str, where: str) -> int:
    if text.isdigit() and int(text) in RATES:
        return int(text)
    raise UsageError(
        f"{where}={text} is not a sampling rate: write a power of two from 1 (every access) to "
        f"{RATES[-1]}, such as {DEFAULT_RATE}"
    )


def without_side_files(words: list[str]) -> list[str]:
    """Return `words` without options that make the compiler write more than its output."""
    result: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in _SIDE_FILES_WITH_VALUE or word == "-o":
            next(remaining, None)
        elif not (
            word in _SIDE_FILES
            or word.startswith(("-MF", "-MT", "-MQ", "-MJ", "-Wp,-M", "-gsplit-dwarf"))
            or (word.startswith("-o") and len(word) > 2)
        ):
            result.append(word)
    return result


def _is_plain_file(path: str) -> bool:
    return path != "-" and (not os.path.exists(path) or os.path.isfile(path))


def _expand(words: list[str], depth: int = 0) -> list[str]:
    """Replace each ``@file`` by the words in it, as GNU tools do."""
    if not any(word.startswith("@") for word in words):
        return list(words)
    result: list[str] = []
    for word in words:
        if not word.startswith("@") or not os.path.isfile(word[1:]):
            result.append(word)
        elif depth > 20:  # GNU tools stop at 2000 files; a file that names itself never ends
            raise UsageError(f"response files are nested too deeply at {word}")
        else:
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                result += _expand(_split(file.read()), depth + 1)
    return result


def _split(text: str) -> list[str]:
    """Split at white space; quotes group, and a backslash escapes the next character."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word = (word or []) + [next(characters, "")]
        elif quote:
            if character == quote:
                quote = ""
            elif word is not None:
                word.append(character)
        elif character in "'\"":
            quote = character
            word = word or []
        elif character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = (word or []) + [character]
    if word is not None:
        words.append("".join(word))
    return words
