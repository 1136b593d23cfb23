"""The other pages' commands, run as a reader would, beside files that stand for the reader's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .commands import REPOSITORY, commands
from .reader import shell

PAGES = ("bursts", "compare", "crash", "emulate", "fleet", "like", "machine", "measure", "place",
         "profile", "studies", "sweep")  # fmt: skip

NOT_RUN = {
    "s3://": "needs a bucket",
    "tls://": "needs a cluster",
    "nearfar run plan.json --map": "needs a second node",
    "convert": "needs persistent memory; tests/vm converts",
    "--resume": "what was interrupted is the reader's",
    "perthreadfile": "the reader's file",
    "cases.csv": "the reader's file",
    "truth.csv": "the reader's file; tests of the studies score",
    "reproduce --all": "make reproduce",
    "intset": "minutes; tests/python/study",
    "gdb": "needs a debugger",
    "set_dump": "tests/python/crash runs the maps",
}
"""Commands that cannot be run here, by a part of them, with the reason."""

MAY_FIND = ("machine --check", "emulate", "compare", "crash", "--self-test")
"""Exit code 1 reports a finding, which the page expects or the machine decides."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the pages take for granted."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    shutil.copy(Path(__file__).with_name("program.c"), folder)
    near = "--near near.json"
    far = f"{near} --far optane-100-6dimm"
    for text in (
        "nearfar cc -O2 -g program.c -o program",
        "nearfar measure dram --quick --seconds 5 --quiet --accept-noise -o near.json",
        f"nearfar profile --quiet {near} --repetitions 2 -o run.json -- ./program",
        f"nearfar place run.json {far} --budget 25% --quiet -o plan.json",
        "nearfar machine --quiet -o machine.json",
        "mkdir profiles && cp run.json profiles/ && cp program btree && cp run.json redis.json",
        "cp run.json before.json && cp run.json small.json",
        f"nearfar profile --quiet {near} --repetitions 2 -o after.json -- ./program --keys 250000",
        "cp after.json large.json",
    ):
        done = shell(folder, text)
        assert done.returncode == 0, f"{text}\n{done.stderr}"
    for page, name in (("place", "machine.toml"), ("sweep", "many.toml")):
        block = re.search(r"```toml\n(.*?)```", (REPOSITORY / f"docs/{page}.md").read_text(), re.S)
        assert block is not None
        (folder / name).write_text(block[1])
    return folder


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run(page: str, made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(made, folder, symlinks=True)
    path = REPOSITORY / "docs" / f"{page}.md"
    for line in path.read_text().splitlines():
        if line.startswith("cc "):
            subprocess.run(line.partition("#")[0].split(), cwd=folder, check=True)
    run = [each for each in commands(path) if not any(part in each.text for part in NOT_RUN)]
    assert run
    for command in run:
        done = shell(folder, command.text)
        allowed = {0, 1} if any(part in command.text for part in MAY_FIND) else {0}
        errors = f"{page}:{command.line}: {command.text}\n{done.stderr}"
        assert done.returncode in allowed, errors
        assert "Traceback" not in done.stderr, errors


def test_each_reason_is_of_some_command() -> None:
    texts = [each.text for page in PAGES for each in commands(REPOSITORY / f"docs/{page}.md")]
    assert [part for part in NOT_RUN if not any(part in text for text in texts)] == []
