"""Sums over the fleet in DuckDB, which spills to disk above a fixed amount of memory."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from nearfar.base.digest import digest_of
from nearfar.base.errors import NearfarError
from nearfar.base.folders import owned_folder
from nearfar.base.units import format_count
from nearfar.documents.fleet import CheapObject
from nearfar.fleet.cache import problem
from nearfar.fleet.costs import LineCosts
from nearfar.fleet.slowdowns import SHARES, AddedTimes, BucketCosts, Slowdowns
from nearfar.fleet.sources import read_source

MEMORY = "400MB"
"""Memory of DuckDB; the rest goes to temporary files."""


def _content(uri: str) -> str:
    """Return a hash of a file's content."""
    try:
        return digest_of(read_source(uri))
    except OSError as error:
        raise problem(f"{uri} can no longer be read: {error}") from error


class Sums:
    """The tables of one fleet."""

    def __init__(self, folder: Path, buckets: Sequence[str], threads: int) -> None:
        self._scratch = contextlib.ExitStack()
        scratch = self._scratch.enter_context(owned_folder("nearfar-fleet-", None))
        self.connection = duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "threads": threads,
                "temp_directory": str(scratch),
                "preserve_insertion_order": False,
            }
        )
        self._folder, self._buckets, self._threads = folder, buckets, threads
        files = [str(folder / f"{name}-profiles.parquet") for name in buckets]
        self.connection.read_parquet(files).create_view("files")
        self._dropped: frozenset[str] = frozenset()
        self.left_out: dict[str, int] = {}
        self.warnings: list[str] = []

    def close(self) -> None:
        """Close the database and remove its files."""
        self.connection.close()
        self._scratch.close()

    def rows(self, query: str, values: Any = None) -> list[tuple[Any, ...]]:
        """Return a query's rows."""
        return self.connection.execute(query, values or []).fetchall()

    def check(self, *, leave_out_bad: bool) -> None:
        """Refuse unusable files, or leave them out and count them; warn of copies."""
        bad = self.rows("select uri, problem from files where problem != '' order by uri")
        if bad and not leave_out_bad:
            more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
            raise problem(f"{bad[0][0]} {bad[0][1]}{more}")
        for _, text in bad:
            short = text.partition(":")[0]
            self.left_out[short] = self.left_out.get(short, 0) + 1
        self.connection.execute(
            "create table profiles as select run::uuid as run, uri, host, cpu_model, near_ns, "
            "bytes from files where problem = ''"
        )
        self._drop_equal_runs(leave_out_bad=leave_out_bad)
        idle = self.rows("select count(*) from profiles where near_ns <= 0 or bytes <= 0")[0][0]
        if idle:
            self.connection.execute("delete from profiles where near_ns <= 0 or bytes <= 0")
            self.left_out["has no near time or no data"] = idle
        if not self.rows("select count(*) from profiles")[0][0]:
            raise NearfarError("the fleet is empty: none of these files is a usable profile")

    def _drop_equal_runs(self, *, leave_out_bad: bool) -> None:
        """Keep the first file of each run: the others are copies, or contradict it."""
        runs: dict[str, list[str]] = {}
        for run, uri in self.rows(
            "select run, uri from profiles semi join "
            "(select run from profiles group by run having count(*) > 1) using (run) order by uri"
        ):
            runs.setdefault(str(run), []).append(str(uri))
        copies: list[str] = []
        clashes: list[str] = []
        for uris in runs.values():
            different: dict[str, str] = {}
            for uri in uris:
                if different.setdefault(_content(uri), uri) != uri:
                    copies.append(uri)
            first, *others = different.values()
            if others and not leave_out_bad:
                raise problem(
                    f"{first} and {others[-1]} claim to be the same run of the same host and "
                    "moment, and differ"
                )
            clashes += others
        if copies:
            self.warnings.append(
                f"copies count once: {format_count(len(copies), 'file')} left out, such as "
                f"{copies[0]}"
            )
        if clashes:
            self.left_out["claims to be the run of another file"] = len(clashes)
        self._dropped = frozenset(copies + clashes)
        if self._dropped:
            self.connection.register("dropped", pa.table({"uri": list(self._dropped)}))
            self.connection.execute("delete from profiles where uri in (select uri from dropped)")
            self.connection.unregister("dropped")

    def set_types(self, types: Mapping[tuple[str, str], str]) -> None:
        """Set every profile's host type."""
        hosts = pa.table(
            {
                "host": pa.array([host for host, _ in types], pa.string()),
                "cpu_model": pa.array([cpu for _, cpu in types], pa.string()),
                "type": pa.array(list(types.values()), pa.string()),
            }
        )
        self.connection.register("given_types", hosts)
        self.connection.execute("create table host_types as select * from given_types")
        self.connection.unregister("given_types")

    def sample(self, count: int) -> list[tuple[str, str]]:
        """Return (uri, type) of `count` profiles in a fixed pseudo-random order."""
        return [
            (str(uri), str(name))
            for uri, name in self.rows(
                "select uri, type from profiles join host_types using (host, cpu_model) "
                f"order by run limit {count}"
            )
        ]

    def drawn(self, most: int) -> list[tuple[str, str]]:
        """Return (uri, type) of at most `most` profiles of each type."""
        return [
            (str(uri), str(name))
            for uri, name in self.rows(
                "select uri, type from profiles join host_types using (host, cpu_model) "
                "qualify row_number() over (partition by type order by run) <= ? "
                "order by run",
                [most],
            )
        ]

    def spread(
        self,
        types: Mapping[tuple[str, str], str],
        costs: Mapping[str, LineCosts],
        sampled: Collection[str],
    ) -> tuple[Slowdowns, dict[str, float]]:
        """Return every profile's slowdown for each far share of its memory, from summed costs.

        The dictionary has the added share of time of the files `sampled` with all data far. The
        added times of objects are kept for `cheapest`.
        """
        count = self.rows("select count(*) from profiles")[0][0]
        kind, near_ns, whole = np.empty(count, np.int32), np.empty(count), np.empty(count)
        added = np.empty((len(SHARES), count))
        all_far: dict[str, float] = {}
        taken = 0
        self.connection.execute(
            "create or replace table objects "
            "(program text, object text, profiles bigint, bytes bigint, added double)"
        )

        def take(bucket: AddedTimes) -> None:
            nonlocal taken
            rows = slice(taken, taken + len(bucket.uris))
            taken = rows.stop
            kind[rows], near_ns[rows], whole[rows] = bucket.kind, bucket.near_ns, bucket.whole
            added[:, rows] = bucket.added_ns / bucket.near_ns
            for row, uri in enumerate(bucket.uris):
                if uri in sampled:
                    all_far[uri] = bucket.all_far_ns[row] / bucket.near_ns[row]
            self.connection.register("added", bucket.objects)
            self.connection.execute(
                "insert into objects select program, object, bytes_count, bytes_sum, added_sum "
                "from added"
            )
            self.connection.unregister("added")

        bucket_costs = BucketCosts(self._folder, types, costs, self._dropped)
        bucket_costs.all(self._buckets, self._threads, take)
        return Slowdowns(bucket_costs.types, kind, near_ns, whole, added), all_far

    def cheapest(self, factor: float, most: int) -> list[CheapObject]:
        """Return large objects, summed by name and program, lowest cost per byte first."""
        return [
            CheapObject(
                program=program,
                object=object_name,
                profiles=count,
                bytes=size,
                slowdown_cost=float(cost),
            )
            for program, object_name, count, size, cost in self.rows(
                f"""
                with summed as (
                  select program, object, sum(profiles)::bigint as count,
                    sum(bytes)::bigint as size,
                    {factor} * sum(added) / (select sum(near_ns) from profiles) as cost
                  from objects group by all
                )
                select * from summed
                where size >= 0.001 * (select sum(bytes) from profiles)
                order by cost / size, size desc, program, object limit {most}
                """
            )
        ]
