"""A cache of condensed rows: a profile is read again only if its file changed.

A file's name determines its bucket, so a new file changes one bucket only. The name of a bucket's
rows is the hash of its files' names, sizes and times of change.

A row holds the few numbers of an object that a fleet needs. Each profile is checked as every other
verb checks it, so that no profile fails later.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import nearfar
from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path, cannot_write
from nearfar.documents import WorkloadProfile
from nearfar.documents.header import read_document
from nearfar.fleet.sources import FleetProfileSource, read_source

BUCKET_FILES = 2000
"""Approximate files per bucket: a second of work, and Parquet files of a useful size."""

MIN_PARALLEL_FILES = 400
"""Files below which starting another process takes longer than reading them."""


def condensed(
    sources: Sequence[FleetProfileSource], folder: Path, tell: Callable[[int, int], None]
) -> list[str]:
    """Return the names of the buckets in `folder`; `tell` receives (files read, all files)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    named = {_name(bucket): bucket for bucket in _buckets(sources)}
    missing = [name for name in named if not (folder / f"{name}-profiles.parquet").exists()]
    done = sum(len(bucket) for name, bucket in named.items() if name not in set(missing))
    tell(done, len(sources))
    if sum(len(named[name]) for name in missing) <= MIN_PARALLEL_FILES or len(missing) == 1:
        for name in missing:
            condense(named[name], folder, name)
        return list(named)
    processes = min(len(missing), len(os.sched_getaffinity(0)))
    # Spawn, not fork: the parent may have threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = {pool.submit(condense, named[name], folder, name): name for name in missing}
        for future in as_completed(futures):
            future.result()
            done += len(named[futures[future]])
            tell(done, len(sources))
    return list(named)


def _buckets(sources: Sequence[FleetProfileSource]) -> list[list[FleetProfileSource]]:
    count = 1
    while count * BUCKET_FILES < len(sources):
        count *= 2
    buckets: list[list[FleetProfileSource]] = [[] for _ in range(count)]
    for source in sources:
        buckets[zlib.crc32(source.uri.encode()) % count].append(source)
    return [bucket for bucket in buckets if bucket]


def _name(bucket: Sequence[FleetProfileSource]) -> str:
    digest = hashlib.blake2b(f"{FORMAT} {nearfar.__version__}\n".encode(), digest_size=16)
    for source in sorted(bucket, key=lambda source: source.uri):
        where = source.uri if "://" in source.uri else os.path.abspath(source.uri)  # noqa: PTH100
        digest.update(f"{where} {source.size_bytes} {source.changed_ns}\n".encode())
    return digest.hexdigest()


def problem(text: str) -> NearfarError:
    """Return the error for an unusable file."""
    return NearfarError(f"{text}; --leave-out-bad skips such files")


FORMAT = 3
"""Version of the condensed rows: a new number discards cached ones."""


MAX_PROFILE_BYTES = 1 << 46
"""Most data of one profile: 64 TiB, as much as 46 bits address. The sum of 100,000 of them still is
an integer of 64 bits."""

PROFILE_COLUMNS = {
    "profile": str,
    "uri": str,
    "host": str,
    "cpu_model": str,
    "run": str,
    "program": str,
    "near_ns": float,
    "bytes": int,
    "problem": str,
}
OBJECT_COLUMNS = {
    "profile": str,
    "object": str,
    "bytes": int,
    "chase": float,
    "independent": float,
    "stream": float,
    "write_back": float,
}


def condense(sources: Sequence[FleetProfileSource], folder: Path, name: str) -> None:
    """Write two Parquet files with the rows of these profiles: NAME-profiles, NAME-objects."""
    profiles: list[tuple[object, ...]] = []
    objects: list[tuple[object, ...]] = []
    for source in sources:
        _append_rows(source, profiles, objects)
    _write(folder / f"{name}-objects.parquet", OBJECT_COLUMNS, objects)
    # Last: if this file exists, both are complete.
    _write(folder / f"{name}-profiles.parquet", PROFILE_COLUMNS, profiles)


def _append_rows(
    source: FleetProfileSource,
    profiles: list[tuple[object, ...]],
    objects: list[tuple[object, ...]],
) -> None:
    try:
        content = read_source(source.uri)
        profile = read_document(content, source.uri, WorkloadProfile)
    except OSError as error:
        profiles.append(_row_of_bad_file(source.uri, f"cannot be read: {error.strerror or error}"))
        return
    except NearfarError as error:
        profiles.append(_row_of_bad_file(source.uri, str(error).removeprefix(source.uri).strip()))
        return
    key = hashlib.blake2b(content, digest_size=16).hexdigest()
    sums = [[0.0, 0.0, 0.0, 0.0] for _ in profile.objects]
    near_ns = 0.0
    for phase in profile.phases:
        near_ns += phase.near_cpu_time_ns.value
        for row in phase.objects:
            traffic, sums_of_object = row.traffic, sums[row.object]
            read, write, followed = (
                traffic.read_misses,
                traffic.write_misses,
                traffic.read_sequential,
            )
            chase = read.chase - followed.chase
            independent = read.indirect - followed.indirect + read.opaque - followed.opaque
            sums_of_object[0] += chase
            sums_of_object[1] += independent
            # Loads that a prefetcher follows and stores that wait in a buffer cost bandwidth only.
            sums_of_object[2] += (
                read.chase + read.indirect + read.stream + read.opaque - chase - independent
            )
            sums_of_object[2] += write.chase + write.indirect + write.stream + write.opaque
            sums_of_object[3] += traffic.write_backs
    total = 0
    for described, totals in zip(profile.objects, sums, strict=True):
        total += described.size_bytes
        objects.append((key, described.name, described.size_bytes, *totals))
    if total > MAX_PROFILE_BYTES:
        del objects[-len(profile.objects) :]
        text = f"is no usable profile: its objects have {total:,} bytes together"
        profiles.append(_row_of_bad_file(source.uri, text))
        return
    made = profile.producer
    run = f"{made.host} {made.time_utc} {made.command}"
    program = profile.program.executable.rpartition("/")[2]
    profiles.append((key, source.uri, made.host, made.cpu_model, run, program, near_ns, total, ""))


def _row_of_bad_file(uri: str, problem: str) -> tuple[object, ...]:
    return ("", uri, "", "", "", "", 0.0, 0, problem)


def _write(path: Path, columns: dict[str, type], rows: Sequence[tuple[object, ...]]) -> None:

    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    names = list(columns)
    turned = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    data = [
        pa.array(values, types[columns[name]]) for name, values in zip(names, turned, strict=True)
    ]
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(data, names=names), temporary)
