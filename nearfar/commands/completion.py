"""The verb `completion`."""

from __future__ import annotations

import sys
from typing import Literal

from cyclopts import App


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print what completes nearfar's verbs and options in a shell.

    bash: nearfar completion bash > ~/.local/share/bash-completion/completions/nearfar
    zsh: nearfar completion zsh > a folder of $fpath/_nearfar
    fish: nearfar completion fish > ~/.config/fish/completions/nearfar.fish

    Parameters
    ----------
    shell
        The shell it is for.
    """
    from nearfar.commands import add_commands

    app = App(name="nearfar")
    add_commands(app)
    sys.stdout.write(app.generate_completion(shell=shell))
