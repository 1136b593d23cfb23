"""One profile to a few numbers for each of its objects: all that a fleet needs of it.

Only the keys that are needed are decoded, by a msgspec type that leaves out the rest: several times
faster than the whole document, and without its memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from nearfar.base.files import atomic_path
from nearfar.documents import WorkloadProfile
from nearfar.fleet.sources import FleetProfileSource, read_source

FORMAT = 1
"""Version of the condensed rows: a new number discards cached ones."""


class _Classes(msgspec.Struct, gc=False):
    chase: float = 0.0
    indirect: float = 0.0
    stream: float = 0.0
    opaque: float = 0.0


class _Traffic(msgspec.Struct, gc=False):
    read_misses: _Classes = msgspec.field(default_factory=_Classes)
    write_misses: _Classes = msgspec.field(default_factory=_Classes)
    read_sequential: _Classes = msgspec.field(default_factory=_Classes)
    write_backs: float = 0.0


class _ObjectTraffic(msgspec.Struct, gc=False):
    object: int
    traffic: _Traffic


class _Estimate(msgspec.Struct, gc=False):
    value: float


class _Phase(msgspec.Struct, gc=False):
    near_cpu_time_ns: _Estimate
    objects: list[_ObjectTraffic]


class _Object(msgspec.Struct, gc=False):
    name: str
    size_bytes: int


class _Program(msgspec.Struct, gc=False):
    executable: str


class _Producer(msgspec.Struct, gc=False):
    host: str
    cpu_model: str
    time_utc: str
    command: str


class _Profile(msgspec.Struct, gc=False):
    producer: _Producer
    program: _Program
    objects: list[_Object]
    phases: list[_Phase]
    kind: str = ""
    version: int = 0


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
    decoder = msgspec.json.Decoder(_Profile)
    for source in sources:
        _take(source, decoder, profiles, objects)
    _write(folder / f"{name}-objects.parquet", OBJECT_COLUMNS, objects)
    # Last: if this file exists, both are complete.
    _write(folder / f"{name}-profiles.parquet", PROFILE_COLUMNS, profiles)


def _take(
    source: FleetProfileSource,
    decoder: msgspec.json.Decoder[_Profile],
    profiles: list[tuple[object, ...]],
    objects: list[tuple[object, ...]],
) -> None:
    try:
        content = read_source(source.uri)
        profile = decoder.decode(content)
    except OSError as error:
        profiles.append(_bad(source.uri, f"cannot be read: {error}"))
        return
    except msgspec.DecodeError as error:
        profiles.append(_bad(source.uri, f"is not a profile: {error}"))
        return
    if profile.kind != WorkloadProfile.KIND:
        profiles.append(_bad(source.uri, f"is a {profile.kind or 'document of no kind'}"))
        return
    if profile.version != WorkloadProfile.VERSION:
        profiles.append(
            _bad(
                source.uri,
                f"has version {profile.version}; this nearfar reads version "
                f"{WorkloadProfile.VERSION}: make it again with this nearfar",
            )
        )
        return
    key = hashlib.blake2b(content, digest_size=16).hexdigest()
    sums = [[0.0, 0.0, 0.0, 0.0] for _ in profile.objects]
    near_ns = 0.0
    for phase in profile.phases:
        near_ns += phase.near_cpu_time_ns.value
        for row in phase.objects:
            traffic, into = row.traffic, sums[row.object]
            read, write, followed = (
                traffic.read_misses,
                traffic.write_misses,
                traffic.read_sequential,
            )
            chase = read.chase - followed.chase
            independent = read.indirect - followed.indirect + read.opaque - followed.opaque
            into[0] += chase
            into[1] += independent
            # What a prefetcher follows, and stores, which wait in their buffer: lines that move.
            into[2] += read.chase + read.indirect + read.stream + read.opaque - chase - independent
            into[2] += write.chase + write.indirect + write.stream + write.opaque
            into[3] += traffic.write_backs
    total = 0
    for described, totals in zip(profile.objects, sums, strict=True):
        total += described.size_bytes
        objects.append((key, described.name, described.size_bytes, *totals))
    made = profile.producer
    run = f"{made.host} {made.time_utc} {made.command}"
    program = profile.program.executable.rpartition("/")[2]
    profiles.append((key, source.uri, made.host, made.cpu_model, run, program, near_ns, total, ""))


def _bad(uri: str, problem: str) -> tuple[object, ...]:
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
