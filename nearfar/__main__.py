"""The program `nearfar`: finds the verbs, runs one, and turns errors into one sentence."""

from __future__ import annotations

import gc
import re
import sys
from typing import TYPE_CHECKING

from nearfar.base.errors import CommandError, ExitCode, NearfarError, nearest

if TYPE_CHECKING:
    from cyclopts import CycloptsError

TAKE_PROGRAMS = ("crash", "emulate", "profile", "run", "try", "validate")
"""Verbs after whose options a program and its own words may follow."""

NEW_OBJECTS = 100_000
"""Objects made between two searches for unreachable cycles. Python's 700 make it search some two
hundred times while modules are imported, which find next to nothing."""

HELP = ("--help", "-h")
"""Words that ask for the list of verbs or, before a verb, for its help."""


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    if arguments is not None:
        return _main(arguments)
    arguments = sys.argv[1:]
    gc.set_threshold(NEW_OBJECTS)
    if not compiles(arguments):
        from nearfar.base.streams import protect_streams

        protect_streams()
    code = _main(arguments)
    # At its end Python would search all modules' objects for cycles three times, some 50 ms; their
    # memory goes back to the system anyway.
    gc.freeze()
    return code


def _main(arguments: list[str]) -> int:
    """Run one verb; turn errors into one sentence and an exit code."""
    try:
        return _run(arguments)
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return _interrupted()
    except RuntimeError as error:
        # threading's conditions raise it if Ctrl-C comes while they take their lock again.
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        return _interrupted()
    except OSError as error:
        # Libraries raise it with a text of their own and no number.
        reason = error.strerror or str(error) or type(error).__name__
        what = f"cannot use {error.filename}" if error.filename else "a system call failed"
        print(f"nearfar: {what}: {reason}", file=sys.stderr)
        return int(ExitCode.MACHINE_LACKS)


def _interrupted() -> int:
    print("nearfar: interrupted; nothing was left half-written", file=sys.stderr)
    return int(ExitCode.INTERRUPTED)


def compiles(arguments: list[str]) -> bool:
    """Return whether this is a compiler's call; cargo calls its RUSTC_WRAPPER with rustc's path."""
    first = arguments[0] if arguments else ""
    return first in ("cc", "c++", "fc", "cargo") or first.rpartition("/")[2] == "rustc"


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["--"] and len(arguments) > 1:
        arguments = ["try", *arguments]  # `nearfar -- ./program` is the shortest question
    if len(arguments) > 1 and arguments[0] in HELP and not arguments[1].startswith("-"):
        arguments = [arguments[1], "--help", *arguments[2:]]  # as if written behind the verb
    if compiles(arguments) and arguments[1:] != ["--help"]:
        # A build calls the compiler thousands of times: nothing else is imported for it.
        from nearfar.profile.compiler import main as compiler_main

        return int(compiler_main(arguments[0], arguments[1:]))
    if arguments[:1] == ["measure"] and any(
        word == "--like" or word.startswith("--like=") for word in arguments
    ):
        # What follows is another tool's command line, in its own way of writing options.
        from nearfar.companions import TOOLS, load

        return int(load(TOOLS, "measure --like")(arguments[1:]))
    if not arguments or arguments[0] in HELP:
        from nearfar.commands._overview import overview

        print(overview())
        return int(ExitCode.DONE)
    if arguments[0] == "--version":
        print(_version())
        return int(ExitCode.DONE)
    return _run_verb(arguments)


def _version() -> str:
    from nearfar.version import version_text

    return version_text()


def _run_verb(arguments: list[str]) -> int:
    from nearfar.commands import add_command, verb_modules, verbs

    verb = arguments[0]
    if verb not in verb_modules() and verb not in verbs():  # companions' take longer to find
        hint = nearest(verb, verbs()) or "."
        raise CommandError(f"there is no verb {verb!r}{hint} See `nearfar --help`.")
    from cyclopts import App, CycloptsError

    app = App(
        name="nearfar",
        version=_version,
        help_on_error=False,
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # main() says it in a sentence
    )
    add_command(app, verb)
    try:
        result = app(
            _with_negatives(arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        print(f"nearfar: {_in_words(error)}", file=sys.stderr)
        return int(ExitCode.WRONG_USE)
    sys.stdout.flush()
    return int(result) if isinstance(result, int) else int(ExitCode.DONE)


def _in_words(error: CycloptsError) -> str:
    """Return what is wrong with a command line, and where to read on."""
    from cyclopts import MissingArgumentError, UnusedCliTokensError

    verb = " ".join(("nearfar", *(error.command_chain or ())))
    text = " ".join(str(error).split())
    if isinstance(error, MissingArgumentError) and (argument := error.argument) is not None:
        name = argument.name
        if argument.index is not None:  # as in the verb's usage
            name = name.removeprefix("--").upper()
        about = " ".join((argument.parameter.help or "").replace("``", "").split())
        about = about.partition(". ")[0].rstrip(".;")
        choices = ", ".join(argument.get_choices() or ())
        about = ": ".join(part for part in (f"{verb} needs {name}", about) if part)
        text = about + (f" ({choices})." if choices else ".")
    if isinstance(error, UnusedCliTokensError):
        text = f"{verb} does not take {' '.join(error.unused_tokens or ())!r} too."
    return f"{text} See `{verb} --help`."


def _with_negatives(arguments: list[str]) -> list[str]:
    """Join an option and its negative value, as ``--budget=-5%``, up to ``--``.

    So the verb refuses it in its own words; read as an option, it would be reported as missing.
    """
    joined: list[str] = []
    if arguments[:1] and arguments[0] in TAKE_PROGRAMS and "--" not in arguments:
        return arguments  # nobody can tell where the program's own words begin
    for at, word in enumerate(arguments):
        if word == "--":
            return joined + arguments[at:]
        option = joined and joined[-1].startswith("--") and "=" not in joined[-1]
        if option and re.match(r"-\.?[0-9]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


if __name__ == "__main__":
    sys.exit(main())
