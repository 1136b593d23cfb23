"""Compute the points of a batch that are not finished yet, in a worker.

A machine runs either any number of computed points or one measured point. Two lock files, GATE and
USE, ensure this. A measured point holds exclusive locks on both. A computed point shares USE; to
get it, it holds a shared lock on GATE for a moment. So a measured point waits for running points,
and no new point starts meanwhile. The kernel releases the locks of a killed process.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import write_atomically
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS, decode_point
from nearfar.points.row import PointRow
from nearfar.sweep.dataset import DOCUMENTS, TOKEN, axes_of
from nearfar.sweep.journal import BatchJournal, FinishedPoints, JournalEntry
from nearfar.sweep.versions import version_of


class BatchOrder(msgspec.Struct, kw_only=True):
    """A batch for a worker."""

    batch: str
    points: list[tuple[str, str, bytes]]
    """Id, kind, parameters."""
    measured: bool
    versions: dict[str, str]
    digests: dict[str, str]
    """Digests of the inputs by name."""
    folder: str
    token: str


class BatchResult(msgspec.Struct, kw_only=True):
    """The result of a batch."""

    refused: str = ""
    """Reason why it computed nothing."""
    rows: list[PointRow] = []
    """Rows, only where the worker cannot write the dataset's folder: the dispatcher writes them."""
    documents: dict[str, bytes] = {}
    """Documents, in the same case."""
    finished: list[str] = []
    errors: dict[str, str] = {}
    seconds: float = 0.0
    """Time spent in points."""
    computed: int = 0
    """Number of computed points, errors included."""


def versions_here() -> dict[str, str]:
    """Return the version of this process's code for every kind of point.

    Workers call this before the first batch, and so import everything that a batch needs.
    """
    return {name: version_of(POINT_KINDS.get(name).CODE) for name in POINT_KINDS.names()}


def run_batch(order_bytes: bytes, contents: dict[str, bytes]) -> bytes:
    """Compute a batch; `contents` are the inputs by name."""
    order = msgspec.msgpack.decode(order_bytes, type=BatchOrder)
    here = versions_here()
    for kind in {kind for _, kind, _ in order.points}:
        if here.get(kind) != order.versions[kind]:
            return _encoded(
                BatchResult(
                    refused=f"the worker on {platform.node()} has nearfar {here.get(kind)} for "
                    f"{kind} points, and this sweep needs {order.versions[kind]}: install the "
                    "same nearfar there"
                )
            )
    inputs = PointInputs(contents, order.digests)
    folder = Path(order.folder)
    answer = BatchResult()
    if _can_use_folder(folder, order.token):
        with BatchJournal(folder, order.batch) as journal:
            for entry in _computed(order, inputs, journal.done, answer, folder):
                journal.add(entry)
            journal.finish()
            answer.errors = journal.done.errors
            answer.finished = sorted(journal.done.stored)
        return _encoded(answer)
    for entry in _computed(order, inputs, FinishedPoints(), answer, None):
        if entry.row is not None:
            answer.rows.append(entry.row)
        else:
            answer.errors[entry.point] = entry.error
    answer.finished = [row.point for row in answer.rows]
    return _encoded(answer)


def _encoded(answer: BatchResult) -> bytes:
    return msgspec.msgpack.encode(answer)


def _can_use_folder(folder: Path, token: str) -> bool:
    """Return whether this host can read and write the dataset's folder."""
    try:
        return (folder / TOKEN).read_text() == token and os.access(folder / DOCUMENTS, os.W_OK)
    except OSError:
        return False


def _computed(
    order: BatchOrder,
    inputs: PointInputs,
    done: FinishedPoints,
    answer: BatchResult,
    folder: Path | None,
) -> Iterator[JournalEntry]:
    alone = machine_alone if order.measured else sharing_machine
    for point in order.points:
        if done.has(point[0]):
            continue
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(alone())
                begun, started = time.perf_counter(), datetime.datetime.now(datetime.UTC)
                entry = _point(point, inputs, order, answer, folder)
                seconds = time.perf_counter() - begun
                answer.seconds += seconds
            except NearfarError as error:
                entry = JournalEntry(point=point[0], error=str(error))
            except (ArithmeticError, LookupError, TypeError, ValueError, OSError, MemoryError) as e:
                # An unexpected error of one point must not end the others.
                entry = JournalEntry(point=point[0], error=f"{type(e).__name__}: {e}")
        answer.computed += 1
        if entry.row is not None:
            entry.row.seconds = seconds
            entry.row.started_utc = started.isoformat(timespec="milliseconds")
        yield entry


def _point(
    point: tuple[str, str, bytes],
    inputs: PointInputs,
    order: BatchOrder,
    answer: BatchResult,
    folder: Path | None,
) -> JournalEntry:
    name, kind, parameters = point
    given = msgspec.json.decode(parameters)
    values, document = decode_point(kind, given).run(inputs)
    if document is not None:
        if folder is None:
            answer.documents[name] = document
        else:
            # Written before the point counts as finished, so that readers find it.
            write_atomically(folder / DOCUMENTS / f"{name}.json", document)
    columns: dict[str, Any] = axes_of(given) | msgspec.structs.asdict(values)
    return JournalEntry(
        row=PointRow(
            point=name,
            kind=kind,
            parameters=parameters.decode(),
            nearfar=order.versions[kind],
            host=platform.node(),
            started_utc="",
            seconds=0.0,
            **columns,
        )
    )


FOLDERS = (Path("/run/lock"), Path("/tmp"))
"""Folders that all users of a machine share; not every system has /run/lock."""

GATE, USE = "nearfar-machine-gate", "nearfar-machine-use"


@contextlib.contextmanager
def sharing_machine() -> Iterator[None]:
    """Share the machine with other computed points."""
    with _open(GATE) as gate, _open(USE) as use:
        fcntl.flock(gate, fcntl.LOCK_SH)
        fcntl.flock(use, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def machine_alone() -> Iterator[None]:
    """Reserve the machine: no other point of any sweep runs on it meanwhile."""
    with _open(GATE) as gate, _open(USE) as use:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(use, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _open(name: str) -> Iterator[int]:
    error: OSError | None = None
    for folder in FOLDERS:
        path = folder / name
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
            # In a sticky folder the kernel refuses O_CREAT on another user's file.
            try:
                file = os.open(path, flags | os.O_CLOEXEC, 0o644)
            except OSError as refused:
                error = refused
                continue
            try:
                yield file
            finally:
                os.close(file)
            return
    raise NearfarError(
        f"cannot lock the machine for measuring: {error}; make {FOLDERS[-1]} writable",
        ExitCode.MACHINE_LACKS,
    )
