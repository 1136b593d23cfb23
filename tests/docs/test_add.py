"""Every file that docs/add.md shows is found by its registry, in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearfar
from nearfar.base.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/add.md").read_text()
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```console\n(.*?)```", re.DOTALL)
INPUTS = ROOT / "tests/golden/inputs"
ENDS = {"machine": (0, 1)}
"""Exit codes of verbs that describe this machine; others end with 0."""

RUN = """
import runpy, sys
# An editable install finds the modules of the checkout before those of the copy.
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
sys.path[:0] = [{folders}]
sys.argv = {words!r}
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository with every file of the page written into it."""
    folder = tmp_path_factory.mktemp("copy")
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    for path, content in FILE.findall(PAGE):
        assert not (folder / path).exists(), f"{path} exists already"
        (folder / path).write_text(content)
    for part in nearfar.__path__:
        for built in [*Path(part).glob("*.so"), Path(part) / "lib", Path(part) / "include"]:
            if built.exists() and not (folder / "nearfar" / built.name).exists():
                (folder / "nearfar" / built.name).symlink_to(built.resolve())
    return folder


def run(copy: Path, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command of the page with the copy's code in `folder`."""
    words = command.split("#", maxsplit=1)[0].split()
    environment = dict(os.environ)
    while "=" in words[0]:
        key, _, value = words.pop(0).partition("=")
        environment[key] = value
    inputs = {"PROFILE": INPUTS / "redis.json", "NEAR": INPUTS / "near.json"}
    words = [str(inputs.get(word, word)) for word in words]
    module = "nearfar" if words[0] == "nearfar" else words[2]
    words = words[1:] if words[0] == "nearfar" else words[3:]
    paths = [
        copy,
        *(copy / "companions" / name for name in ("bench", "imports", "like", "studies")),
    ]
    folders = ", ".join(repr(str(path)) for path in paths)
    code = RUN.format(folders=folders, words=[module, *words], module=module)
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command", [line for block in COMMANDS.findall(PAGE) for line in block.splitlines() if line]
)
def test_commands_of_the_page_use_what_was_added(copy: Path, command: str, tmp_path: Path) -> None:
    done = run(copy, command, tmp_path)
    assert done.returncode in ENDS.get(command.split()[1], (0,)), done.stderr
    expected = {"hello": "hello nearfar", "reproduce": "off by 0.0%", "machine": "swap"}
    assert expected.get(command.split()[1], "") in done.stdout


def test_a_lint_is_one_file(copy: Path, tmp_path: Path) -> None:
    """The registry of the copy lists it."""
    (tmp_path / "listed.py").write_text(
        "from nearfar.crash.lints._registry import LINTS\nprint(LINTS.names())\n"
    )
    code = RUN.format(
        folders=f"{str(copy)!r}, {str(tmp_path)!r}", words=["listed"], module="listed"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "example lint" in done.stdout, done.stderr


def test_a_source_of_accesses_is_one_file(copy: Path, tmp_path: Path) -> None:
    """The verb of the copy runs a program under it, and names it where another is asked for."""
    done = run(copy, "nearfar profile --source unknown -- /bin/true", tmp_path)
    assert done.returncode == ExitCode.WRONG_USE
    assert '"compiled", "counters", "niced", "qemu"' in done.stderr
    if shutil.which("clang-16") is None:
        pytest.skip("clang-16 is not installed")
    (tmp_path / "walk.c").write_text(
        "#include <stdlib.h>\nint main(void) {\n  char *all = calloc(1, 64 << 20);\n"
        "  for (long i = 0; i < 64 << 20; i += 64) all[i]++;\n  return all[64] - 1;\n}\n"
    )
    assert run(copy, "nearfar cc -O1 walk.c -o walk", tmp_path).returncode == 0
    done = run(copy, "nearfar profile --source niced -- ./walk", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.json").exists()


@pytest.mark.long
def test_a_kernel_is_one_file(copy: Path, tmp_path: Path) -> None:
    """Build the copy's module and run the kernel."""
    build = tmp_path / "build"
    options = ["-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(["cmake", "-S", copy, "-B", build, *options], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build, "-t", "_measure"], check=True, capture_output=True)
    (module,) = build.rglob("_measure*.so")
    linked = copy / "nearfar" / module.name
    linked.unlink(missing_ok=True)
    linked.symlink_to(module)
    done = run(copy, "nearfar measure --kernel list", tmp_path)
    assert "copy_again" in done.stdout, done.stderr
