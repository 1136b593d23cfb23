"""Keeps one core busy while rows are measured, as on a machine that others use (BUSY=1)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

WORK = """
import hashlib, os, sys
cpu, parent = map(int, sys.argv[1:])
os.sched_setaffinity(0, {cpu})
block = bytes(4 << 20)
while os.getppid() == parent:
    hashlib.sha256(block).digest()
"""
"""Reads 4 MiB again and again; ends when the process that started it is gone."""


@contextlib.contextmanager
def busy_core() -> Iterator[subprocess.Popen[bytes]]:
    """Run a process on the last CPU that this one may use; it ends with the block."""
    cpu = max(os.sched_getaffinity(0))
    child = subprocess.Popen([sys.executable, "-c", WORK, str(cpu), str(os.getpid())])
    try:
        yield child
    finally:
        child.kill()
        child.wait()
