"""SQLite databases: each is opened, which recovers it, and passes `integrity_check`.

The program prints `acknowledged QUERY` when the query is to return a true value from now on: after
a commit, `acknowledged SELECT count(*) FROM items WHERE id = 7`.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

_HEADER = b"SQLite format 3\0"
_SIDE_FILES = ("-journal", "-wal", "-shm")


def databases(folder: str) -> list[Path]:
    """Return files that are databases, or become one when their journal is replayed."""
    paths = [Path(root) / name for root, _, names in os.walk(folder) for name in sorted(names)]
    journals = {str(path) for path in paths if str(path).endswith(_SIDE_FILES)}
    return [
        path
        for path in paths
        if str(path) not in journals
        and (
            path.open("rb").read(len(_HEADER)) == _HEADER
            or any(str(path) + suffix in journals for suffix in _SIDE_FILES)
        )
    ]


def holds(connection: sqlite3.Connection, query: str) -> bool:
    """Return whether the query returns a true value; false where its tables are missing."""
    try:
        row = connection.execute(query).fetchone()
    except sqlite3.OperationalError:
        return False
    return row is not None and bool(row[0])


def main(folder: str, printed: str) -> int:
    """Return the exit code."""
    connections = []
    for path in databases(folder):
        try:
            connection = sqlite3.connect(path)
            rows = connection.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.DatabaseError as error:
            print(f"{path.name}: {error}")
            return 1
        if rows != [("ok",)]:
            print(f"{path.name}: integrity_check: {rows[0][0]}")
            return 1
        connections.append(connection)
    for line in Path(printed).read_text(errors="replace").split("\n")[:-1]:
        word, _, query = line.partition(" ")
        if word == "acknowledged" and not any(holds(c, query) for c in connections):
            print(f"acknowledged and lost: {query}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
