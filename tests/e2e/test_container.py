"""The image of `Containerfile` is built, and nearfar answers in it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
IMAGE = "nearfar-test"
BUILDERS = ("podman", "buildah", "docker")
PREDICT = ("predict", "thesis-hashmap", "--near", "thesis-dram", "--far", "optane-100-6dimm")


def builder() -> str:
    """Return a builder that works here; skip the tests if there is none."""
    reasons = []
    for name in BUILDERS:
        if shutil.which(name) is None:
            reasons.append(f"{name} is not installed")
            continue
        asked = subprocess.run([name, "info"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return name
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        reasons.append(f"{name} does not work ({last})")
    pytest.skip(f"no builder of containers: {'; '.join(reasons)}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Yield the words that run nearfar in an image of the files that git knows."""
    name = builder()
    context = tmp_path_factory.mktemp("context")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for file in filter(None, listed.split("\0")):
        if (ROOT / file).is_file():
            (context / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, context / file)
    recipe = str(context / "Containerfile")
    subprocess.run([name, "build", "-t", IMAGE, "-f", recipe, str(context)], check=True)
    if name == "buildah":  # which runs commands in containers that it makes, without entry points
        made = subprocess.run([name, "from", IMAGE], capture_output=True, text=True, check=True)
        container = made.stdout.strip()
        yield [name, "run", container, "--", "nearfar"]
        subprocess.run([name, "rm", container], check=False)
    else:
        yield [name, "run", "--rm", IMAGE]
    subprocess.run([name, "rmi", IMAGE], check=False)


def answer(run: list[str], *words: str) -> str:
    done = subprocess.run(
        [*run, *words], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_image_predicts(run: list[str]) -> None:
    assert "slowdown" in answer(run, *PREDICT)


def test_the_image_tries_a_program_that_was_not_rebuilt(run: list[str]) -> None:
    llvm = "/usr/lib/x86_64-linux-gnu/libLLVM-16.so.1"  # 100 MB
    assert "Slowdown" in answer(run, "try", "--", "gzip", "-1", "-c", llvm)
