"""A cache of condensed rows: a profile is read again only if its file changed.

A file's name determines its bucket, so a new file changes one bucket only. The name of a bucket's
rows is the hash of its files' names, sizes and times of change.

A row holds the few numbers of an object that a fleet needs. Each profile is checked as every other
verb checks it, so that no profile fails later: by native code, and by Python where a profile is
unusual or bad.
"""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import nearfar
from nearfar._fleet import ProfileRows
from nearfar.base.digest import digest_of
from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path, cannot_write
from nearfar.documents import WorkloadProfile
from nearfar.documents.header import read_document
from nearfar.fleet.native_types import profile_rows
from nearfar.fleet.sources import FleetSources, read_source

BUCKET_FILES = 2000
"""Approximate files per bucket: a second of work, and Parquet files of a useful size."""

MIN_PARALLEL_FILES = 400
"""Files below which starting another process takes longer than reading them."""


def condensed(sources: FleetSources, folder: Path, tell: Callable[[int, int], None]) -> list[str]:
    """Return the names of the buckets in `folder`; `tell` receives (files read, all files)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    names: list[str] = []
    done, total = 0, len(sources.uris)
    with _Workers(folder) as workers:
        for bucket in _buckets(sources.uris):
            names.append(_name(bucket, sources))
            if (folder / f"{names[-1]}-profiles.parquet").exists():
                done += len(bucket)
            else:
                workers.condense(bucket, names[-1])
        tell(done, total)
        for count in workers.finished():
            done += count
            tell(done, total)
    return names


class _Workers:
    """Condense buckets, in other processes if there are many files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[tuple[list[str], str]] = []
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[Future[None], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def condense(self, bucket: list[str], name: str) -> None:
        """Condense a bucket soon: at once, if there are many files already."""
        self._waiting.append((bucket, name))
        files = sum(len(uris) for uris, _ in self._waiting)
        if self._pool is None and len(self._waiting) > 1 and files > MIN_PARALLEL_FILES:
            self._pool = ProcessPoolExecutor(
                len(os.sched_getaffinity(0)),
                # Not fork: the parent may have threads.
                mp_context=multiprocessing.get_context("spawn"),
                # Nothing of a document refers back to it, so nothing is garbage that is not freed.
                initializer=gc.disable,
            )
        if self._pool is not None:
            for uris, named in self._waiting:
                self._futures[self._pool.submit(condense, uris, self._folder, named)] = len(uris)
            self._waiting.clear()

    def finished(self) -> Iterator[int]:
        """Wait for all buckets; yield the number of files of each."""
        for uris, name in self._waiting:
            condense(uris, self._folder, name)
            yield len(uris)
        for future in as_completed(self._futures):
            future.result()
            yield self._futures.pop(future)


def _buckets(uris: Sequence[str]) -> Iterator[list[str]]:
    count = 1
    while count * BUCKET_FILES < len(uris):
        count *= 2
    buckets: list[list[str]] = [[] for _ in range(count)]
    for uri in uris:
        buckets[zlib.crc32(uri.encode()) % count].append(uri)
    for bucket in buckets:
        if bucket:
            bucket.sort()
            yield bucket


def _name(bucket: Sequence[str], sources: FleetSources) -> str:
    digest = hashlib.blake2b(f"{FORMAT} {nearfar.__version__}\n".encode(), digest_size=16)
    digest.update("".join(f"{uri} {sources.state(uri)}\n" for uri in bucket).encode())
    return digest.hexdigest()


def problem(text: str) -> NearfarError:
    """Return the error for an unusable file."""
    return NearfarError(f"{text}; --leave-out-bad skips such files")


FORMAT = 4
"""Version of the condensed rows: a new number discards cached ones."""


MAX_PROFILE_BYTES = 1 << 46
"""Most data of one profile: 64 TiB, as much as 46 bits address. The sum of 100,000 of them still is
an integer of 64 bits."""

PROFILE_COLUMNS = pa.schema(
    {
        "run": pa.string(),
        "uri": pa.string(),
        "host": pa.string(),
        "cpu_model": pa.string(),
        "program": pa.string(),
        "near_ns": pa.float64(),
        "bytes": pa.int64(),
        "objects": pa.int64(),
        "problem": pa.string(),
    }
)
"""`run`: a hash of host, time and command. `objects`: how many rows of the other table belong to
it; both tables have the same order."""
OBJECT_COLUMNS = pa.schema(
    {
        "object": pa.string(),
        "bytes": pa.int64(),
        "chase": pa.float64(),
        "independent": pa.float64(),
        "stream": pa.float64(),
        "write_back": pa.float64(),
    }
)


def condense(uris: Sequence[str], folder: Path, name: str) -> None:
    """Write two Parquet files with the rows of these profiles: NAME-profiles, NAME-objects."""
    rows = profile_rows(MAX_PROFILE_BYTES)
    profiles = zip(*[_row(uri, rows) for uri in uris], strict=True)
    data = [
        pa.array(each, column.type) for each, column in zip(profiles, PROFILE_COLUMNS, strict=True)
    ]
    _write(folder / f"{name}-objects.parquet", _objects(rows))
    # Last: if this file exists, both are complete.
    _write(folder / f"{name}-profiles.parquet", pa.table(data, schema=PROFILE_COLUMNS))


def _objects(rows: ProfileRows) -> pa.Table:
    """Return all rows of `OBJECT_COLUMNS`."""
    columns = rows.columns
    names = pa.LargeStringArray.from_buffers(
        len(columns.bytes), pa.py_buffer(columns.name_begins), pa.py_buffer(columns.names)
    ).cast(pa.string())
    return pa.table(
        [
            names,
            columns.bytes,
            columns.chase,
            columns.independent,
            columns.stream,
            columns.write_back,
        ],
        schema=OBJECT_COLUMNS,
    )


def _row(uri: str, rows: ProfileRows) -> tuple[object, ...]:
    """Return the row of a profile, and add its objects to `rows`."""
    try:
        data = read_source(uri)
        head = rows.add(data)
        if head is None:
            profile = read_document(data, uri, WorkloadProfile)
            total = sum([described.size_bytes for described in profile.objects])
            if total > MAX_PROFILE_BYTES:
                raise NearfarError(
                    f"{uri} is no usable profile: its objects have {total:,} bytes together"
                )
            head = rows.add(msgspec.json.encode(profile), plain=True)
            if head is None:
                raise NearfarError(
                    f"{uri} is no usable profile: a number in it needs more than 64 bits"
                )
    except OSError as error:
        return _row_of_bad_file(uri, f"cannot be read: {error.strerror or error}")
    except NearfarError as error:
        return _row_of_bad_file(uri, str(error).removeprefix(uri).strip())
    program = head.executable.rpartition("/")[2]
    run = digest_of(f"{head.host} {head.time_utc} {head.command}".encode())
    return (
        run,
        uri,
        head.host,
        head.cpu_model,
        program,
        head.near_ns,
        head.bytes,
        head.objects,
        "",
    )


def _row_of_bad_file(uri: str, problem: str) -> tuple[object, ...]:
    return ("", uri, "", "", "", 0.0, 0, 0, problem)


def _write(path: Path, table: pa.Table) -> None:
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)
