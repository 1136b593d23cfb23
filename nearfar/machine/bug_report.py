"""`nearfar machine --bug-report`: what a maintainer would ask for, without secrets.

Host and user names, home folders, addresses, identifiers and serial numbers are removed. Of the
environment, the report has only the variables that affect nearfar, memory placement or allocators.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
import socket
import subprocess
from importlib import metadata
from pathlib import Path

from nearfar.documents.header import to_json
from nearfar.machine.check import check_machine
from nearfar.machine.read import read_machine
from nearfar.version import built_from, native_parts

TOOLS = {
    "clang-16": ["clang-16", "--version"],
    "gcc": ["gcc", "--version"],
    "ld": ["ld", "--version"],
    "qemu-x86_64": ["qemu-x86_64", "--version"],
    "numactl": ["numactl", "--show"],
    "ndctl": ["ndctl", "--version"],
    "daxctl": ["daxctl", "--version"],
    "cxl": ["cxl", "--version"],
    "ipmctl": ["ipmctl", "version"],
}
STEERING = re.compile(r"^(NEARFAR_|MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|LD_LIBRARY_PATH|PMEM|OMP_)")
"""Variables that change what nearfar measures; all others are private."""
IDENTIFIERS = [
    (re.compile(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "UUID"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "ID"),  # containers
    (re.compile(r"\b([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b"), "MAC"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"), "ADDRESS"),
    (re.compile(r"/(?:home|Users)/[^/\s\"',:]+"), "~"),
    (
        re.compile(r"(?i)((?:pass(?:word|wd)?|token|secret|key|credential)[\w.-]*=)\S+"),
        r"\1REMOVED",
    ),
    (re.compile(r"(?i)(serial[\w ]*\"?\s*[:=]\s*\"?)[\w-]+"), r"\1REMOVED"),
]
ANSWER_SECONDS = 10
"""Time after which a tool counts as hanging, s."""


def bug_report(root: Path = Path("/")) -> str:
    """Return the report as Markdown, to be read before it is sent."""
    parts = [
        "# nearfar bug report\n\nPlease say what you did, what you expected, what happened, and "
        "read what follows before you send it.\n",
        _section("nearfar", _nearfar_facts()),
        _section("system", _system_facts(root)),
        _section(
            "tools", "\n".join(f"{name}: {_first_line_of(*line)}" for name, line in TOOLS.items())
        ),
        _section("environment", _environment_lines() or "nothing that steers nearfar"),
        _section("machine --check", to_json(check_machine(root)).decode(), "json"),
        _section("machine", to_json(read_machine(root)).decode(), "json"),
    ]
    return without_secrets("\n".join(parts))


def without_secrets(text: str) -> str:
    """Return `text` without names, addresses and numbers that identify its user or machine."""
    for name in filter(None, {socket.gethostname(), platform.node()}):
        text = re.sub(rf"\b{re.escape(name)}\b", "HOST", text)
    home = str(Path.home())
    if home != "/":
        text = text.replace(home, "~")
    user = _user()
    if user and user != "root":
        text = re.sub(rf"\b{re.escape(user)}\b", "USER", text)
    for pattern, put in IDENTIFIERS:
        text = pattern.sub(put, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _section(title: str, text: str, language: str = "") -> str:
    return f"## {title}\n\n```{language}\n{text.strip()}\n```\n"


def _nearfar_facts() -> str:
    requirements = metadata.requires("nearfar") or []
    names = {
        re.split(r"[<>=!~ ;\[]", requirement)[0]
        for requirement in requirements
        if "extra ==" not in requirement
    }
    versions = {name: _version(name) for name in sorted({"nearfar", *names})}
    return "\n".join(
        [
            f"commit: {built_from() or 'unknown'}",
            f"native parts: {', '.join(native_parts())}",
            f"python: {platform.python_version()}",
            f"packages: {json.dumps(versions)}",
        ]
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _system_facts(root: Path) -> str:
    lines = [f"kernel: {platform.release()} {platform.machine()}"]
    for name in ("etc/os-release", "proc/cmdline", "proc/self/cgroup", "proc/swaps"):
        try:
            lines.append(f"{name}: {(root / name).read_text().strip()}")
        except OSError as error:
            lines.append(f"{name}: {error.strerror}")
    return "\n".join(lines)


def _environment_lines() -> str:
    return "\n".join(
        f"{key}={value}" for key, value in sorted(os.environ.items()) if STEERING.match(key)
    )


def _first_line_of(*line: str) -> str:
    if shutil.which(line[0]) is None:
        return "not here"
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {ANSWER_SECONDS} s"
    except OSError as error:
        return error.strerror or "cannot be run"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else f"exit code {done.returncode}"
