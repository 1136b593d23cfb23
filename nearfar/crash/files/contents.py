"""Content of files and folders when some operations are lost or torn."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.crash.files.log import LogKind
from nearfar.crash.files.operations import ROOT, FileRun, Folders, Operation, apply_name

SECTOR_BYTES = 512
"""Sectors are written completely or not at all (Pillai et al., OSDI 2014, section 3.1)."""


_MAX_DEPTH = 64
"""Maximum nesting of folders: a folder may contain itself if some of several renames are lost."""
_BASE_STEP = 32
"""Number of operations between two contents of a file that are kept."""
_MAX_BASES = 8
"""Maximum number of contents that are kept of a file, each as large as the file."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Remains of an operation that is not complete."""

    kept: tuple[tuple[int, int], ...] = ()
    """Parts of the file that were written."""
    sized: bool = False
    """Whether the file has its new size nevertheless."""
    fill: int = 0
    """Content of new bytes that were not written: 0, or the earlier content of the disk."""


LOST = Damage()
Damages = Mapping[int, Damage]
"""Damage by number of the operation."""


@dataclass(frozen=True)
class FileImage:
    """One file, folder or link of an image."""

    path: str
    mode: int
    content: bytes | None
    """None: a folder or a link."""
    target: str | None


class Contents:
    """Builds images of a run; consecutive requests are faster if points rise."""

    def __init__(self, run: FileRun) -> None:
        self._run = run
        self._by_node: dict[int, list[Operation]] = defaultdict(list)
        self._namings: list[Operation] = []
        for operation in run.operations:
            if operation.names:
                self._namings.append(operation)
            else:
                self._by_node[operation.node].append(operation)
        self._numbers = {
            node: [operation.number for operation in operations]
            for node, operations in self._by_node.items()
        }
        self._naming_numbers = [operation.number for operation in self._namings]
        self._bases: dict[int, dict[int, bytes]] = defaultdict(dict)
        """Content of each file after some numbers of complete operations."""
        self._names_cursor: tuple[int, Folders] = (0, run.folders)
        """Number of operations on names that were applied, and the folders after them."""
        self._digests: dict[int, tuple[bytes, bytes]] = {}

    def image(self, done: int, damages: Damages) -> list[FileImage]:
        """Return the files after the first `done` operations, in the order of their paths."""
        folders = self._folders(done, damages)
        by_node: dict[int, list[int]] = defaultdict(list)
        for number in damages:
            by_node[self._run.operations[number].node].append(number)
        image: list[FileImage] = []
        self._walk(folders, ROOT, "", (done, damages, by_node), image)
        return image

    def key(self, image: Sequence[FileImage], printed: bytes) -> bytes:
        """Return a hash that equal images with the same printed text share."""
        total = hashlib.blake2b(printed, digest_size=16)
        for file in image:
            head = f"{file.path}\0{file.mode}\0{file.target}\0{file.content is None}\0"
            total.update(head.encode(errors="surrogateescape"))
            if file.content is not None:
                total.update(self._digest(file.content))
        return total.digest()

    def _digest(self, content: bytes) -> bytes:
        known = self._digests.get(id(content))
        if known is not None and known[0] is content:
            return known[1]
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if len(self._digests) > 256:
            self._digests.clear()
        self._digests[id(content)] = (content, digest)
        return digest

    def _walk(
        self,
        folders: Folders,
        folder: int,
        prefix: str,
        state: tuple[int, Damages, Mapping[int, list[int]]],
        image: list[FileImage],
    ) -> None:
        """Append the files below `folder` to `image`, in the order of their paths."""
        if prefix.count("/") > _MAX_DEPTH:
            return
        for name, node in sorted(folders.get(folder, {}).items()):
            kind = self._run.nodes[node]
            path = prefix + name
            if kind.folder:
                image.append(FileImage(path, kind.mode, None, None))
                self._walk(folders, node, f"{path}/", state, image)
            elif kind.target is not None:
                image.append(FileImage(path, kind.mode, None, kind.target))
            else:
                done, damages, by_node = state
                content = self._content(node, done, damages, by_node.get(node, []))
                image.append(FileImage(path, kind.mode, content, None))

    def _folders(self, done: int, damages: Damages) -> Folders:
        """Return the entries of folders after the first `done` operations, without lost ones."""
        end = bisect_left(self._naming_numbers, done)
        lost = [number for number in damages if self._run.operations[number].names]
        first = bisect_left(self._naming_numbers, min(lost)) if lost else end
        first = min(first, end)
        at, base = self._names_cursor
        if at > first:
            at, base = 0, self._run.folders
        folders = {node: dict(entries) for node, entries in base.items()}
        for operation in self._namings[at:first]:
            apply_name(folders, operation)
        if at != first:
            kept = {node: dict(entries) for node, entries in folders.items()}
            self._names_cursor = (first, kept)
        for operation in self._namings[first:end]:
            if operation.number not in damages:
                apply_name(folders, operation)
        return folders

    def _content(self, node: int, done: int, damages: Damages, damaged: Sequence[int]) -> bytes:
        """Return a file after the run's first `done` operations; `damaged`: the file's damages."""
        numbers = self._numbers.get(node, [])
        end = bisect_left(numbers, done)
        first = min(bisect_left(numbers, min(damaged)) if damaged else end, end)
        base = self._complete(node, first)
        if first == end:
            return base
        file = _FileBuilder(base)
        operations = self._by_node[node][first:end]
        for at, operation in enumerate(operations):
            damage = damages.get(operation.number)
            if damage is None:
                file.apply(operation)
            else:
                later = [
                    other for other in operations[at + 1 :] if damages.get(other.number) != LOST
                ]
                file.apply_damaged(operation, damage, later)
        return file.finished()

    def _complete(self, node: int, count: int) -> bytes:
        """Return the content after the first `count` operations on the file, all complete."""
        bases = self._bases[node]
        if not bases:
            bases[0] = self._run.contents.get(node, b"")
        at = max((known for known in bases if known <= count), default=None)
        assert at is not None
        if at == count:
            return bases[at]
        file = _FileBuilder(bases[at])
        last = count // _BASE_STEP * _BASE_STEP
        if last > at:
            for operation in self._by_node[node][at:last]:
                file.apply(operation)
            bases[last] = file.finished()
            if len(bases) > _MAX_BASES:
                del bases[sorted(bases)[1]]  # the first is the content before the run
            at = last
        for operation in self._by_node[node][at:count]:
            file.apply(operation)
        return file.finished()


class _FileBuilder:
    """A file's content while operations are applied."""

    def __init__(self, base: bytes) -> None:
        self._data = bytearray(base)
        self._size = len(base)

    def finished(self) -> bytes:
        self._fit(self._size)
        return bytes(self._data[: self._size])

    def apply(self, operation: Operation) -> None:
        if operation.kind is LogKind.TRUNCATE:
            assert operation.size is not None
            del self._data[operation.size :]
            self._size = operation.size
            return
        self._put(operation.offset, operation.data)
        if operation.size is not None or operation.writes:
            self._size = max(self._size, operation.size or operation.end)

    def apply_damaged(
        self, operation: Operation, damage: Damage, later: Sequence[Operation]
    ) -> None:
        """Apply the remains of an operation; shared sectors also contain later writes."""
        if not operation.writes:
            return
        if damage.sized:
            fresh = max(self._size, operation.offset)
            if fresh < operation.end:
                self._put(fresh, bytes([damage.fill]) * (operation.end - fresh))
            self._size = max(self._size, operation.end)
        shared = [
            (
                other.offset // SECTOR_BYTES * SECTOR_BYTES,
                -(-other.end // SECTOR_BYTES) * SECTOR_BYTES,
            )
            for other in later
            if other.writes
        ]
        for begin, end in (*damage.kept, *shared):
            first, last = max(begin, operation.offset), min(end, operation.end)
            if first < last:
                self._put(first, operation.data[first - operation.offset : last - operation.offset])

    def _put(self, offset: int, data: bytes) -> None:
        self._fit(offset)
        self._data[offset : offset + len(data)] = data

    def _fit(self, size: int) -> None:
        if len(self._data) < size:
            self._data.extend(bytes(size - len(self._data)))
