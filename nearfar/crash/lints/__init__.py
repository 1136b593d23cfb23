"""What is suspicious or slow whatever the checker says.

finding       one thing met: of which kind, where in the pool, who did it
world         the run as far as it was walked: content, objects, transactions
persist       never flushed, never fenced, flushed twice, flushed unmodified
transactions  stores without snapshot, snapshots that are too short, never used or volatile, moves
pointers      addresses of memory that is no pool
layout        layout name or version changed
root          a root that was overwritten
leaks         allocations that a crash leaks
unpersisted   recovery that reads what was never persisted

One kind of mistake, one file: a class with `feed` and `finish`, and a line in `_WATCHERS`. The last
three look at images, by `objects`' tool of libpmemobj and the user's checker.
"""

from nearfar.crash.lints.run import lints_of

__all__ = ["lints_of"]
