"""SQLite databases: each is opened, which recovers it, and passes `integrity_check`.

The program prints `acknowledged QUERY` when the query is to return a true value from now on: after
a commit, `acknowledged SELECT count(*) FROM items WHERE id = 7`. `committed QUERY` requires what
SQLite promises with its default settings: the power cut may undo the last commit, since the end of
its journal is durable only with `synchronous=EXTRA` (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

_HEADER = b"SQLite format 3\0"
_SIDE_FILES = ("-journal", "-wal", "-shm")
_JOURNAL_HEADER = bytes.fromhex("d9d505f920a163d7")


def databases(folder: str) -> list[Path]:
    """Return files that are databases, or become databases when their journal is replayed."""
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
    """Return whether the query returns a true value; false if its tables are missing."""
    try:
        row = connection.execute(query).fetchone()
    except sqlite3.OperationalError:
        return False
    return row is not None and bool(row[0])


def has_journal(path: Path) -> bool:
    """Return whether opening the database may undo a transaction."""
    journal = Path(f"{path}-journal")
    return journal.is_file() and journal.read_bytes().startswith(_JOURNAL_HEADER)


def lost_queries(printed: str, connections: list[sqlite3.Connection], *, undone: bool) -> list[str]:
    """Return the queries that should be true and are not; `undone`: a journal undid something."""
    pairs = [line.partition(" ") for line in printed.split("\n")[:-1]]
    pairs = [pair for pair in pairs if pair[0] in {"acknowledged", "committed"}]
    if undone and pairs and pairs[-1][0] == "committed":
        pairs.pop()
    return [query for _, _, query in pairs if not any(holds(c, query) for c in connections)]


def main(folder: str, printed: str) -> int:
    """Return 0 if each database is whole and has what `printed` acknowledges, otherwise 1."""
    connections = []
    undone = False
    for path in databases(folder):
        undone = undone or has_journal(path)
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
    lost = lost_queries(Path(printed).read_text(errors="replace"), connections, undone=undone)
    if lost:
        is_last = undone and len(lost) == 1
        why = "; a journal undid it, which only synchronous=EXTRA prevents" if is_last else ""
        print(f"acknowledged and lost: {lost[0]}{why}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
