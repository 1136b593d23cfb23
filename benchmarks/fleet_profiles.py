"""Synthetic profiles of a fleet with known sums, written fast."""

from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents import Producer, WorkloadProfile
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import (
    AccessClasses,
    Frame,
    MemoryObject,
    ObjectTraffic,
    Phase,
    Traffic,
)

HOST_TYPES = ("Xeon Gold 6248R", "Xeon Platinum 8480", "EPYC 9654")
PROGRAMS = ("redis-server", "sqlite3", "postgres", "memcached", "rocksdb", "train", "web", "batch")
OBJECTS = 12
FOLDER_FILES = 1000
"""Files per folder: more slow file systems down."""


PATTERNS = 1200
"""Different objects and traffic: two files of one pattern differ by host and command. A multiple of
the numbers of host types and programs."""


def write_profiles(folder: Path, count: int) -> int:
    """Write `count` profiles below `folder`; return their total bytes of data."""
    firsts = range(0, count, FOLDER_FILES)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return sum(
            pool.map(
                write_folder,
                [folder / f"{first // FOLDER_FILES:04d}" for first in firsts],
                firsts,
                [min(first + FOLDER_FILES, count) for first in firsts],
            )
        )


def write_folder(folder: Path, first: int, end: int) -> int:
    """Write the profiles `first` to `end` to a folder; return their bytes of data."""
    folder.mkdir(parents=True)
    total = 0
    for number in range(first, end):
        data_bytes, rest = patterns()[number % PATTERNS]
        total += data_bytes
        head = msgspec.json.encode(produced(number))
        with open(folder / f"{number:07d}.json", "wb", buffering=0) as file:  # noqa: PTH123
            file.write(START + head + rest)
    return total


START = b'{"kind":"workload-profile","version":1,"producer":'


@cache
def patterns() -> list[tuple[int, bytes]]:
    """Return the bytes of data of each pattern, and its profile's JSON after the producer."""
    dice = random.Random(1)
    made = []
    for number in range(PATTERNS):
        profile = made_profile(dice, number)
        start = START + msgspec.json.encode(profile.producer)
        encoded = msgspec.json.encode(profile)
        assert encoded.startswith(start)
        size = sum(each.size_bytes for each in profile.objects)
        made.append((size, encoded.removeprefix(start)))
    return made


def produced(number: int) -> Producer:
    """Return the producer of a profile."""
    kind = number % len(HOST_TYPES)
    return Producer(
        "0.1.0",
        f"nearfar profile {number}",
        f"host-{number % 997:04d}-{kind}",
        HOST_TYPES[kind],
        "6.1",
        "2026-01-01T00:00:00+00:00",
    )


def made_profile(dice: random.Random, number: int) -> WorkloadProfile:
    """Return a run of a program on a host."""
    program = PROGRAMS[number % len(PROGRAMS)]
    objects, rows = [], []
    misses_all = 0.0
    for i in range(OBJECTS):
        size = int(2.0 ** dice.uniform(14, 30))
        misses = 10.0 ** dice.uniform(2, 6.5)
        misses_all += misses
        objects.append(
            MemoryObject(
                id=i,
                name=f"make_{i} {program}.c:{100 + i}",
                kind="heap",
                frames=[
                    Frame(function=f"make_{i}", file=f"{program}.c", line=100 + i, module=program)
                ],
                allocations=1,
                allocated_bytes=size,
                peak_live_bytes=size,
                live_bytes_at_peak=size,
                size_bytes=size,
            )
        )
        classes = AccessClasses(
            chase=misses * (0.5 if i % 3 == 0 else 0.0),
            indirect=misses * (0.5 if i % 3 != 1 else 0.2),
            stream=misses * (0.8 if i % 3 == 1 else 0.0),
            opaque=misses * (0.5 if i % 3 == 2 else 0.0),
        )
        rows.append(
            ObjectTraffic(
                object=i,
                traffic=Traffic(
                    accesses=misses * 8,
                    read_misses=classes,
                    write_misses=AccessClasses(opaque=misses * 0.1),
                    write_backs=misses * 0.2,
                ),
            )
        )
    near = misses_all * dice.uniform(30, 300) + 1e6
    return WorkloadProfile(
        producer=produced(number),
        program=Program(
            command=[program],
            executable=f"/usr/bin/{program}",
            compiler="clang",
            threads_seen=1,
            processes_seen=1,
            exit_status="exited 0",
            plain_executable=f"/usr/bin/{program}",
        ),
        cache=CacheModel(size_bytes=32 << 20, ways=16, line_bytes=64, origin="detected"),
        sampling=Sampling(
            rate=64, sampled_accesses=10**6, sampled_misses=10**5, relative_error=0.01
        ),
        instrumented_slowdown=1.4,
        objects=objects,
        instructions=[],
        phases=[
            Phase(
                name="-",
                near_cpu_time_ns=Estimate(near, near * 0.98, near * 1.02),
                near_repetitions=5,
                near_wall_time_ns=near,
                objects=rows,
                instructions=[],
            )
        ],
        live=[],
    )
