"""Output of tools that report more than sysfs does (ndctl, ipmctl, cxl).

These tools exit with 0 even if they fail, and report some facts to root only. So their exit status
is ignored, and a tool that prints nothing counts as failed. A captured tree has their output as
files in the folder `tools`, named after the command with ``_`` for blanks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Literal

from nearfar.machine.sysfs import Tree

LIMIT_S = 60.0
"""Time limit of a tool, s: ipmctl needs half a minute to query 24 modules, over a slow mailbox."""
FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"
"""Folders of these tools on systems where they are not in users' PATH."""


@dataclass(frozen=True)
class ToolAnswer:
    """Output of a tool; `problem` is the reason if there is none."""

    text: str = ""
    problem: Literal["", "not installed", "no answer", "not captured"] = ""


def find_tool(name: str) -> str | None:
    """Return the path of tool `name`, or None."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{FOLDERS}")


def ask(tree: Tree, *command: str) -> ToolAnswer:
    """Return what `command` prints on this machine, or printed on the captured one."""
    if not tree.live:
        text = tree.text(f"tools/{'_'.join(command)}")
        return ToolAnswer(problem="not captured") if text is None else ToolAnswer(text)
    path = find_tool(command[0])
    if path is None:
        return ToolAnswer(problem="not installed")
    try:
        done = subprocess.run(
            [path, *command[1:]],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ToolAnswer(problem="no answer")
    return ToolAnswer(done.stdout + done.stderr)
