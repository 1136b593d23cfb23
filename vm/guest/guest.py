"""What the checks share: running commands and nearfar, and what the machine is like now."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from nearfar.__main__ import main

NODES = Path("/sys/devices/system/node")


class SkipCheckError(Exception):
    """It cannot be tested on this guest, and why."""


def sh(command: str, *, status: int | None = 0) -> str:
    """Run a shell command and return what it prints; fail if it ends otherwise than `status`."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    print(f"$ {command}\n{text}", end="")
    assert status is None or done.returncode == status, f"{command} ended with {done.returncode}"
    return text


def nearfar(*arguments: str, status: int = 0) -> str:
    """Run `nearfar` in this process and return what it prints; fail if it ends otherwise."""
    shown = io.StringIO()
    print(f"$ nearfar {' '.join(arguments)}")
    began = time.monotonic()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        got = main(list(arguments))
    print(f"{shown.getvalue()}({time.monotonic() - began:.1f} s)")
    assert got == status, f"nearfar ended with {got}, not {status}"
    return shown.getvalue()


def nearfar_as(user: int, *arguments: str, status: int = 0) -> None:
    """Run `nearfar` as another user, in a child of this process: Python need not start anew."""
    print(f"$ nearfar {' '.join(arguments)} (as user {user})", flush=True)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        os._exit(main(list(arguments)))
    _, ended = os.waitpid(child, 0)
    got = os.waitstatus_to_exitcode(ended)
    assert got == status, f"nearfar ended with {got}, not {status}"


def nearfar_json(*arguments: str, status: int = 0) -> Any:
    """Run `nearfar ... --json` and return the document."""
    return json.loads(nearfar(*arguments, "--json", status=status))


def nodes() -> list[int]:
    """Return the nodes that have memory."""
    numbers = []
    for folder in NODES.glob("node[0-9]*"):
        total = re.search(r"MemTotal:\s*(\d+)", (folder / "meminfo").read_text())
        if total and int(total[1]):
            numbers.append(int(folder.name.removeprefix("node")))
    return sorted(numbers)


def modes() -> dict[str, str]:
    """Return namespace to mode, as ndctl tells it."""
    text = subprocess.run(["ndctl", "list", "-N"], capture_output=True, text=True, check=False)
    found = json.loads(text.stdout or "[]")
    found = found if isinstance(found, list) else [found]
    return {entry["dev"]: entry["mode"] for entry in found}


def spare_device() -> str:
    """Return the NVDIMM's second namespace, made a DAX device if it is not there yet."""
    (name,) = [one for one, mode in modes().items() if mode == "devdax" and "0." in one] or [""]
    if not name:
        before = set(modes())
        sh("ndctl create-namespace -m devdax -r region0")
        (name,) = set(modes()) - before
    return f"/dev/dax{name.removeprefix('namespace')}"
