"""Operations that are not durable at each point, in a model of a file system."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.crash.files.models._registry import FileSystem, is_metadata
from nearfar.crash.files.operations import NAMING, FileRun, Operation, Output, Sync

_PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A moment of a power cut, just after an event of the run."""

    event: int
    """Number of events before it."""
    done: int
    """Number of operations before it."""
    printed: int
    """Bytes that the program had printed."""
    pending: tuple[int, ...]
    """Operations that are not durable."""


def points_of(run: FileRun, model: FileSystem) -> list[CrashPoint]:
    """Return the points before each sync, after each output and at the end."""
    pending = _Pending(run, model)
    points: list[CrashPoint] = []
    done = printed = 0
    changed = True

    def cut(event: int) -> None:
        nonlocal changed
        if changed:
            points.append(CrashPoint(event, done, printed, pending.numbers()))
        changed = False

    for number, event in enumerate(run.events):
        if isinstance(event, Operation):
            pending.add(event)
            done += 1
            changed = True
        elif isinstance(event, Sync):
            cut(number)
            pending.sync(event)
            changed = True
        elif isinstance(event, Output):
            # The checker gets all text that the program had printed when the power went.
            printed += len(event.data)
            changed = True
            cut(number + 1)
    cut(len(run.events))
    return points


class _Pending:
    """Operations that are not durable yet."""

    def __init__(self, run: FileRun, model: FileSystem) -> None:
        self._model = model
        self._nodes = run.nodes
        self._pending: dict[int, Operation] = {}
        self._touched: dict[int, int] = {}
        """Number of the last operation for which a sync of each file, folder or link waits."""
        self._touched_size: dict[int, int] = {}
        """Number of the last operation for which an fdatasync of each waits."""

    def numbers(self) -> tuple[int, ...]:
        return tuple(self._pending)

    def add(self, operation: Operation) -> None:
        self._pending[operation.number] = operation
        if not (is_metadata(operation) or operation.extends):
            return
        for node in {operation.node, *operation.folders}:
            self._touched[node] = operation.number
        if operation.names and operation.replaced is not None:
            self._touched[operation.replaced] = operation.number
        if not operation.names or operation.kind in NAMING:
            self._touched_size[operation.node] = operation.number

    def sync(self, sync: Sync) -> None:
        journaled = -1
        if sync.node is not None and self._model.journals_names:
            journaled = min(self._commits(sync.node, sync), sync.up_to - 1)
        for operation in list(self._pending.values()):
            if operation.number >= sync.up_to:
                break
            if self._covers(sync, operation, journaled):
                del self._pending[operation.number]

    def _commits(self, node: int, sync: Sync) -> int:
        """Return the number of the last journaled operation that the sync makes durable."""
        # ext4 commits its whole journal for a folder, and for any file if data is journaled
        # (Linux, fs/ext4/fsync.c and ext4_inode_journal_mode).
        if self._model.journals_data or self._nodes[node].folder:
            return sync.up_to - 1
        return (self._touched_size if sync.data_only else self._touched).get(node, -1)

    def _covers(self, sync: Sync, operation: Operation, journaled: int) -> bool:
        if sync.node is None:
            return True
        if operation.number <= journaled and (is_metadata(operation) or self._model.journals_data):
            return True
        if operation.names:
            return not self._model.journals_names and sync.node in operation.folders
        if operation.node != sync.node:
            return False
        begin = sync.begin // _PAGE_BYTES * _PAGE_BYTES
        end = None if sync.end is None else -(-sync.end // _PAGE_BYTES) * _PAGE_BYTES
        return operation.offset >= begin and (end is None or operation.end <= end)
