"""The run as operations on files and folders, calls that make them durable, and printed text."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.crash.files.log import WRITE_IS_DURABLE, FileCall, FileLog, LogKind

ROOT = 0
"""FileNode of the data's folder."""
_EXCHANGE = 2
_FALLOCATE_KEEP_SIZE, _FALLOCATE_PUNCH, _FALLOCATE_ZERO = 1, 2, 16
NAMING = (LogKind.CREATE, LogKind.MKDIR, LogKind.SYMLINK, LogKind.LINK)
"""Calls that add an entry."""


@dataclass(frozen=True, slots=True)
class FileNode:
    """A file, folder or symbolic link; its number does not change when it is renamed."""

    mode: int
    folder: bool = False
    target: str | None = None
    """Target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call that changed a file's content or a folder's entries."""

    number: int
    kind: LogKind
    node: int
    text: str
    """The call in words, with the path at that time."""
    stack: tuple[int, ...]
    offset: int = 0
    data: bytes = b""
    end: int = 0
    """First byte behind the changed range."""
    size: int | None = None
    """Size of the file that it sets, if any; a write sets at least its end."""
    extends: bool = False
    """Whether it made the file larger."""
    folder: int = ROOT
    name: str = ""
    new_folder: int = ROOT
    """New folder, if it is a rename."""
    new_name: str = ""
    replaced: int | None = None
    """FileNode that had the new name before."""
    exchanged: bool = False

    @property
    def names(self) -> bool:
        """Whether it changes entries of folders."""
        return self.kind in NAMING or self.kind in (
            LogKind.RENAME,
            LogKind.UNLINK,
            LogKind.RMDIR,
        )

    @property
    def writes(self) -> bool:
        """Whether it changes bytes, so that it may be torn."""
        return self.kind in (LogKind.WRITE, LogKind.MAPPED)

    @property
    def folders(self) -> tuple[int, ...]:
        """Folders whose entries it changes."""
        if not self.names:
            return ()
        return (self.folder, self.new_folder) if self.kind is LogKind.RENAME else (self.folder,)


@dataclass(frozen=True, slots=True)
class Sync:
    """A call that made earlier operations durable."""

    node: int | None
    """File or folder; None: all."""
    up_to: int
    """Number of operations that had ended when it began."""
    stack: tuple[int, ...]
    data_only: bool = False
    begin: int = 0
    end: int | None = None
    """End of the synchronised part of the file; None: to its end."""


@dataclass(frozen=True, slots=True)
class Output:
    """Output of the program."""

    data: bytes


Event = Operation | Sync | Output
Folders = dict[int, dict[str, int]]
"""Entries of each folder by its node."""


@dataclass
class FileRun:
    """A run's events, and the data before it."""

    nodes: dict[int, FileNode] = field(default_factory=dict)
    folders: Folders = field(default_factory=lambda: {ROOT: {}})
    """Folders before the run."""
    contents: dict[int, bytes] = field(default_factory=dict)
    """Files before the run."""
    events: list[Event] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    syncs: int = 0
    outputs: int = 0


def apply_name(folders: Folders, operation: Operation) -> None:
    """Apply `operation` to the folders; entries may be missing if earlier operations were lost."""
    entries = folders.setdefault(operation.folder, {})
    if operation.kind in NAMING:
        entries[operation.name] = operation.node
        if operation.kind is LogKind.MKDIR:
            folders.setdefault(operation.node, {})
        return
    if entries.get(operation.name) == operation.node:
        del entries[operation.name]
    if operation.kind is LogKind.RENAME:
        folders.setdefault(operation.new_folder, {})[operation.new_name] = operation.node
        if operation.exchanged and operation.replaced is not None:
            entries[operation.name] = operation.replaced


class RunReader:
    """Reads the data before a run, then the run's log."""

    def __init__(self, folder: Path) -> None:
        self._by_inode: dict[int, int] = {}
        self.run = FileRun()
        self._read_folder(folder, ROOT)
        self._current_folders: Folders = {}
        self._sizes: dict[int, int] = {}
        self._records: list[int] = []
        """Record numbers of operations."""

    def _read_folder(self, folder: Path, node: int) -> None:
        """Record the files, folders and links below `folder`, which is node number `node`."""
        run = self.run
        run.nodes[node] = FileNode(folder.stat().st_mode & 0o7777, folder=True)
        self._by_inode[folder.stat().st_ino] = node
        entries = run.folders.setdefault(node, {})
        for path in sorted(folder.iterdir()):
            status = path.lstat()
            if path.is_dir() and not path.is_symlink():
                child = entries[path.name] = len(run.nodes)
                self._read_folder(path, child)
                continue
            linked = self._by_inode.get(status.st_ino)  # known by another hard link
            child = entries[path.name] = len(run.nodes) if linked is None else linked
            self._by_inode[status.st_ino] = child
            if path.is_symlink():
                run.nodes[child] = FileNode(0o777, target=str(path.readlink()))
            elif path.is_file():
                run.nodes[child] = FileNode(status.st_mode & 0o7777)
                run.contents[child] = path.read_bytes()
            else:
                raise NearfarError(f"{path} is no file, folder or link: keep it out of --files")

    def read(self, log: FileLog) -> FileRun:
        """Return the run."""
        self._current_folders = {node: dict(entries) for node, entries in self.run.folders.items()}
        self._sizes = {node: len(content) for node, content in self.run.contents.items()}
        for call in log.calls:
            self._add(call)
        return self.run

    def _add(self, call: FileCall) -> None:
        run = self.run
        if call.kind is LogKind.OUTPUT:
            run.outputs += 1
            run.events.append(Output(call.payload))
        elif call.kind in (LogKind.FSYNC, LogKind.SYNC):
            self._add_sync(call)
        elif call.kind is not LogKind.RANGE:
            operation = self._operation(call)
            if operation is None:
                return
            run.operations.append(operation)
            run.events.append(operation)
            self._records.append(call.number)
            if operation.names:
                apply_name(self._current_folders, operation)
            if call.kind is LogKind.WRITE and call.c & WRITE_IS_DURABLE:
                self._add_durable_write(operation)

    def _add_sync(self, call: FileCall) -> None:
        node = self._by_inode.get(call.a) if call.kind is LogKind.FSYNC else None
        if call.kind is LogKind.FSYNC and node is None:
            return
        begin, end = 0, None
        if call.payload:
            begin, size = call.range()
            end = begin + size
        up_to = bisect_left(self._records, call.b)
        data_only = call.kind is LogKind.FSYNC and call.c == 1
        self.run.events.append(Sync(node, up_to, call.stack, data_only, begin, end))
        self.run.syncs += 1

    def _add_durable_write(self, operation: Operation) -> None:
        sync = Sync(
            operation.node,
            operation.number + 1,
            operation.stack,
            data_only=True,
            begin=operation.offset,
            end=operation.end,
        )
        self.run.events.append(sync)
        self.run.syncs += 1

    def _operation(self, call: FileCall) -> Operation | None:
        """Return the operation that a call made; None if its file is outside the data."""
        number = len(self.run.operations)
        if call.kind in NAMING or call.kind in (
            LogKind.RENAME,
            LogKind.UNLINK,
            LogKind.RMDIR,
        ):
            return self._naming(call, number)
        node = self._by_inode.get(call.a)
        if node is None:
            return None
        path = self._path(node)
        size = self._sizes.get(node, 0)
        if call.kind in (LogKind.WRITE, LogKind.MAPPED):
            end = call.b + len(call.payload)
            self._sizes[node] = max(size, end)
            how = "store through a mapping" if call.kind is LogKind.MAPPED else "write"
            text = f"{how} of {len(call.payload)} bytes at {call.b:#x} of {path}"
            return Operation(
                *(number, call.kind, node, text, call.stack, call.b, call.payload, end),
                extends=end > size,
            )
        if call.kind is LogKind.TRUNCATE:
            self._sizes[node] = call.b
            text = f"truncate {path} to {call.b} bytes"
            return Operation(
                *(number, call.kind, node, text, call.stack, min(size, call.b), b""),
                *(max(size, call.b), call.b),
            )
        return self._allocation(call, number, node, size)

    def _allocation(self, call: FileCall, number: int, node: int, size: int) -> Operation:
        """Return the operation of a call of fallocate on a file of `size` bytes."""
        length, mode = call.range()
        if mode & ~(_FALLOCATE_KEEP_SIZE | _FALLOCATE_PUNCH | _FALLOCATE_ZERO):
            raise NearfarError(
                "cannot judge: the program inserts or cuts out parts of files (fallocate), which "
                "nearfar does not follow",
                ExitCode.PROGRAM_FAILED,
            )
        end = call.b + length
        zeroes = bool(mode & (_FALLOCATE_PUNCH | _FALLOCATE_ZERO))
        new_size = size if mode & _FALLOCATE_KEEP_SIZE else max(size, end)
        self._sizes[node] = new_size
        text = f"allocate {length} bytes at {call.b:#x} of {self._path(node)}"
        data = bytes(min(end, new_size) - call.b) if zeroes and call.b < new_size else b""
        return Operation(
            *(number, call.kind, node, text, call.stack, call.b, data, end),
            size=new_size if new_size > size else None,
            extends=new_size > size,
        )

    def _naming(self, call: FileCall, number: int) -> Operation | None:
        """Return the operation of a call that changes entries; None if it is outside the data."""
        folder = self._by_inode.get(call.a)
        if folder is None:
            return None
        if call.kind is LogKind.RENAME:
            return self._rename(call, number, folder)
        name, target = call.names() if call.kind is LogKind.SYMLINK else (call.name(), None)
        path = self._join(folder, name)
        if call.kind in (LogKind.UNLINK, LogKind.RMDIR):
            node = self._current_folders.get(folder, {}).get(name)
            if node is None:
                return None
        elif call.kind is LogKind.LINK:
            node = self._by_inode[call.b]
        else:
            node = self._by_inode[call.b] = len(self.run.nodes)
            self.run.nodes[node] = FileNode(call.c, call.kind is LogKind.MKDIR, target)
        verb = call.kind.name.lower()
        text = f"{verb} {path}" if call.kind is not LogKind.LINK else f"link {path} to a file"
        return Operation(number, call.kind, node, text, call.stack, folder=folder, name=name)

    def _rename(self, call: FileCall, number: int, folder: int) -> Operation | None:
        new_folder = self._by_inode.get(call.b)
        old, new = call.names()
        node = self._current_folders.get(folder, {}).get(old)
        if new_folder is None or node is None:
            return None
        return Operation(
            *(number, call.kind, node),
            f"rename {self._join(folder, old)} to {self._join(new_folder, new)}",
            call.stack,
            folder=folder,
            name=old,
            new_folder=new_folder,
            new_name=new,
            replaced=self._current_folders.get(new_folder, {}).get(new),
            exchanged=bool(call.c & _EXCHANGE),
        )

    def _path(self, node: int) -> str:
        """Return a path of a node, at this point of the run."""
        if node == ROOT:
            return "."
        for folder, entries in self._current_folders.items():
            for name, child in entries.items():
                if child == node:
                    return self._join(folder, name)
        return "a file without a name"

    def _join(self, folder: int, name: str) -> str:
        return name if folder == ROOT else f"{self._path(folder)}/{name}"
