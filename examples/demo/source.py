"""Fetches a Debian source package with an apt configuration of its own.

The machine's own apt configuration is read, never changed: its binary entries are copied to a
private folder as `deb-src` entries, with private lists and cache, so no root is needed.

    source.py PACKAGE FOLDER
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path


class SourceUnavailableError(RuntimeError):
    """The source package is not available; the message says why."""


def fetch_source(package: str, folder: Path) -> Path:
    """Return the unpacked source tree of `package` below `folder`, fetched at most once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make demo` fetches while nearfar is built
        return _fetched(package, folder)


def _fetched(package: str, folder: Path) -> Path:
    if (done := folder / "unpacked").is_symlink() and done.exists():
        return done.resolve()
    if shutil.which("apt-get") is None:
        raise SourceUnavailableError("this machine has no apt-get")
    apt = _private_apt(folder / "apt")
    _run([*apt, "update"], folder)
    _run([*apt, "source", package], folder)
    trees = [path for path in folder.glob(f"{package}-*") if path.is_dir()]
    if len(trees) != 1:
        raise SourceUnavailableError(f"apt-get source {package} unpacked {len(trees)} folders")
    done.unlink(missing_ok=True)
    done.symlink_to(trees[0].name)
    return done.resolve()


def _private_apt(folder: Path) -> list[str]:
    """Return an apt-get command that reads and writes only below `folder`."""
    for name in ("lists/partial", "cache/archives/partial", "sources.d"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(_one_line_sources())
    for path in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = path.read_text()
        if "Types: deb" in text:
            text = text.replace("Types: deb\n", "Types: deb-src\n")
            (folder / "sources.d" / path.name).write_text(
                text.replace("Types: deb deb-src\n", "Types: deb-src\n")
            )
    folder = folder.resolve()
    return [
        "apt-get",
        "-q",
        f"-oDir::Etc::SourceList={folder}/sources.list",
        f"-oDir::Etc::SourceParts={folder}/sources.d",
        f"-oDir::State::Lists={folder}/lists",
        f"-oDir::Cache={folder}/cache",
        "-oAPT::Sandbox::User=",
        "-oAcquire::Languages=none",
        "-oAcquire::Retries=2",
    ]


def _one_line_sources() -> str:
    lines: list[str] = []
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]:
        if path.exists():
            for line in path.read_text().splitlines():
                if line.startswith("deb "):
                    lines.append("deb-src " + line.removeprefix("deb "))
    return "\n".join(lines) + "\n"


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(f"{command[0]} did not answer in 240 s") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or ["nothing"])[-1]
        raise SourceUnavailableError(f"{command[0]} {command[-1]} failed: {said}") from error


if __name__ == "__main__":
    fetch_source(sys.argv[1], Path(sys.argv[2]))
