"""The tutorial and the answers to questions, run as a reader would, in one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import REPOSITORY, commands
from .reader import lay_checkout, shell

pytestmark = pytest.mark.long

MAY_FIND = ("machine --check", "emulate", "compare")
"""Verbs whose exit code 1 reports a finding, which depends on the machine."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a reader's folder."""
    folder = tmp_path_factory.mktemp("docs")
    lay_checkout(folder)
    return folder


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/questions.md"])
def test_every_command_does_what_it_says(folder: Path, page: str) -> None:
    for command in commands(REPOSITORY / page):
        if command.not_run:
            continue
        done = shell(folder, command.text)
        allowed = {0, 1} if any(f"nearfar {each}" in command.text for each in MAY_FIND) else {0}
        assert done.returncode in allowed, f"{page}:{command.line}: {command.text}\n{done.stderr}"
