"""The verb `completion`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from cyclopts import App

if TYPE_CHECKING:
    from nearfar.options.option import Field


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the script that completes nearfar's verbs and options in a shell.

    bash: nearfar completion bash > ~/.local/share/bash-completion/completions/nearfar

    zsh: nearfar completion zsh > FOLDER/_nearfar, a folder of $fpath

    fish: nearfar completion fish > ~/.config/fish/completions/nearfar.fish

    Parameters
    ----------
    shell
        The shell it is for.
    """
    from nearfar.commands import _verb, add_commands
    from nearfar.commands import schema as schema_verb

    _verb.FOR_COMPLETION.append(_names)
    schema_verb.schema.__annotations__["kind"] = Literal[tuple(schema_verb.KINDS)]
    app = App(name="nearfar")
    add_commands(app)
    script = app.generate_completion(shell=shell)
    if shell == "bash":
        # Complete a name of the library or, if none matches, a file.
        last = script.rindex("\n}")
        files = '  [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=( $(compgen -f -- "${cur}") )'
        script = f"{script[:last]}\n{files}{script[last:]}"
    sys.stdout.write(script)


def _names(entry: Field) -> Sequence[str]:
    """Return the library's names that an option takes."""
    from nearfar.devices.cores.library import core_names
    from nearfar.devices.library import device_names
    from nearfar.devices.machines.library import machine_names
    from nearfar.documents import DeviceProfile
    from nearfar.predict.model import MODELS

    if entry.type is not str:
        return ()
    if DeviceProfile in entry.documents or entry.name in ("device", "devices", "first", "others"):
        return device_names()
    return {
        "model": MODELS.names,
        "models": MODELS.names,
        "core": core_names,
        "on": machine_names,
    }.get(entry.name, tuple)()
