"""The cost of recording file calls, next to the program on its disk."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.crash.files.record import record_files
from nearfar.crash.scratch import scratch

SECONDS = 10

COMMAND = "make benchmarks ONLY=crash_files"
ROUNDS = 5
MAX_RATIO = 1.2
"""Wall time recorded, over that on the disk."""
_PROGRAMS = {
    "SQLite, wal, 300 transactions": """
import sqlite3, sys
data = sqlite3.connect(sys.argv[1] + "/data", isolation_level=None)
data.execute("PRAGMA journal_mode = wal")
data.execute("PRAGMA synchronous = full")
data.execute("CREATE TABLE number (value INTEGER, text TEXT)")
for value in range(300):
    data.execute("INSERT INTO number VALUES (?, ?)", (value, "x" * 200))
""",
    "4,000 writes, 200 syncs": """
import os, sys
file = os.open(sys.argv[1] + "/log", os.O_CREAT | os.O_WRONLY)
for number in range(4000):
    os.write(file, b"x" * 4096)
    if number % 20 == 19:
        os.fdatasync(file)
""",
}


def rows() -> Iterator[Row]:
    """Yield a row for each program."""
    for name, program in _PROGRAMS.items():
        on_disk, recorded = [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory(prefix="nearfar-rows-", dir="/var/tmp") as folder:
                begin_s = time.monotonic()
                subprocess.run([*_python(program), folder], check=True)
                on_disk.append(time.monotonic() - begin_s)
            with scratch() as memory:
                data = memory / "data"
                data.mkdir()
                words = [*_python(program), str(data)]
                recorded.append(record_files(words, data, memory / "log", json=True).seconds)
        yield make_row(
            f"recording file calls: {name}",
            statistics.median(recorded),
            "s",
            bar=MAX_RATIO,
            judge="ratio",
            peer=f"the program on {Path('/var/tmp')}",
            peer_value=statistics.median(on_disk),
            command=COMMAND,
        )


def _python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]
