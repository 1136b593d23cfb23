"""Every command that README and docs/ show is one that nearfar understands."""

from __future__ import annotations

import pytest
from cyclopts import App, CycloptsError

from nearfar.commands import add_commands

from .commands import REPOSITORY, Command, commands, pages

SHOWN = [command for page in pages() for command in commands(page)]


@pytest.fixture(scope="module")
def app() -> App:
    app = App(name="nearfar")
    add_commands(app)
    return app


def test_there_are_commands() -> None:
    assert len({command.page for command in SHOWN}) > 10


@pytest.mark.parametrize("command", SHOWN, ids=lambda one: f"{one.page}:{one.line}")
def test_verbs_and_options_exist(app: App, command: Command) -> None:
    words = command.words
    if words[0] in ("nearfar-cc", "nearfar-c++") or words[1] in ("cc", "c++"):
        return  # what follows is the compiler's
    assert words[0] == "nearfar"
    if words[1] == "measure" and "--like" in words:
        return  # another tool's options: test_like_* run each
    if f"<!-- file: nearfar/commands/{words[1]}.py -->" in (REPOSITORY / command.page).read_text():
        return  # the page itself adds this verb: test_add does so
    if words[1:] in (["--version"], ["--help"]):
        return
    try:
        app.parse_args(words[1:], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        pytest.fail(f"{command.page}:{command.line}: {command.text}: {error}")
