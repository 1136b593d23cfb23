"""A cache of condensed rows: a profile is read again only if its file changed.

A file's name determines its bucket, so a new file changes only its own bucket. A bucket's
rows are named by the hash of its files' names, sizes and times of change.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nearfar
from nearfar.base.errors import NearfarError
from nearfar.base.files import cannot_write
from nearfar.fleet.condense import FORMAT, condense
from nearfar.fleet.sources import FleetProfileSource

BUCKET_FILES = 2000
"""Approximate files per bucket: a second of work, and Parquet files of a useful size."""

MIN_PARALLEL_FILES = 400
"""Files below which starting another process takes longer than reading them."""


def cache_folder() -> Path:
    """Return the folder of the rows: $XDG_CACHE_HOME/nearfar/fleet."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "nearfar" / "fleet"


def condensed(
    sources: Sequence[FleetProfileSource], folder: Path, tell: Callable[[int, int], None]
) -> list[str]:
    """Return the names of the buckets in `folder`; `tell` receives files read and all files."""
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
    # Not by fork: the parent may have threads by now.
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
