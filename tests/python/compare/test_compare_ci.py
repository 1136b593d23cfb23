"""The example for continuous integration passes unchanged and fails when misses grow.

The workflow's steps run as they are written, in a clone of this repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = REPOSITORY / "examples/continuous_integration"


def check(folder: Path, flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FLAGS": flags}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        [str(folder / "check.sh")], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("build"))
    return copy


def test_the_check_passes_unchanged(folder: Path) -> None:
    ran = check(folder, "")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "measure" in tomllib.loads((EXAMPLE / "times.toml").read_text())


@pytest.mark.long
def test_the_check_fails_when_misses_grow(folder: Path) -> None:
    wide = check(folder, "-DWIDE")
    assert wide.returncode == 1, wide.stdout + wide.stderr
    assert "make_orders lookup.cpp" in (folder / "build/nearfar.html").read_text()
    assert "<failure" in (folder / "build/nearfar.xml").read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone of the working tree, whose branch `main` is what a change goes to."""
    listed = subprocess.run(
        ["git", "-C", str(REPOSITORY), "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("this is no git repository, which the workflow clones")
    origin = tmp_path / "origin"
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (REPOSITORY / name).is_file():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, origin / name)
    identity = ("-c", "user.name=nearfar", "-c", "user.email=nearfar@localhost")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        (*identity, "commit", "-q", "-m", "Clone"),
        ("clone", "-q", str(origin), str(tmp_path / "clone")),
    ):
        subprocess.run(["git", *words], cwd=origin, check=True)
    return tmp_path / "clone"


def run_steps(clone: Path, tools: Path, *, install: bool) -> None:
    """Run the workflow's commands as a runner does: bash -e, in the clone."""
    steps = yaml.safe_load((EXAMPLE / "nearfar.yml").read_text())["jobs"]["memory"]["steps"]
    commands = [
        step["run"].replace("${{ github.base_ref }}", "main") for step in steps if "run" in step
    ]
    assert [command.split()[0] for command in commands[:2]] == ["sudo", "pip"]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV", "FLAGS")
    }
    if not install:
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", str(REPOSITORY))
    environment["PATH"] = f"{tools}:{environment['PATH']}"
    for command in commands if install else commands[2:]:
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        # Equal builds differ where other work slows one of them: times may be judged worse.
        allowed = {0, 1} if "nearfar sweep" in command else {0}
        assert ran.returncode in allowed, f"{command}\n{ran.stdout}{ran.stderr}"
    made = clone / "examples/continuous_integration/build"
    assert {path.name for path in made.glob("*.html")} == {"nearfar.html", "times.html"}
    assert {path.name for path in made.glob("*.xml")} == {"nearfar.xml", "times.xml"}


@pytest.mark.long
def test_the_workflows_checks_run_in_a_clone(clone: Path) -> None:
    run_steps(clone, Path(sys.executable).parent, install=False)


@pytest.mark.long
def test_the_workflow_runs_in_a_clone_with_nearfar_installed_from_it(
    clone: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "venv" / "bin"
    venv.create(tools.parent, with_pip=True)
    if shutil.which("sudo") is None:
        if os.getuid() != 0:
            pytest.skip("the workflow installs packages as root: there is no sudo")
        # Root needs none.
        (tools / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (tools / "sudo").chmod(0o755)
    run_steps(clone, tools, install=True)
