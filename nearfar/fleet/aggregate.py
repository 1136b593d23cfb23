"""Sums over the fleet in DuckDB, which spills to disk above a fixed amount of memory."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from nearfar.base.errors import NearfarError
from nearfar.base.folders import owned_folder
from nearfar.base.units import format_count
from nearfar.documents.fleet import CheapObject, FleetCurvePoint
from nearfar.fleet.cache import problem
from nearfar.fleet.costs import STEPS, LineCosts

MEMORY = "1GB"
"""Memory of DuckDB; the rest goes to temporary files."""

SHARES = tuple(i / 16 for i in range(17))
"""Examined shares of far memory: DIMM slots come in eighths, and their halves."""


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
        files = {
            what: [str(folder / f"{name}-{what}.parquet") for name in buckets]
            for what in ("profiles", "objects")
        }
        self.connection.execute(
            "create table files as select * from read_parquet($profiles)",
            {"profiles": files["profiles"]},
        )
        self._objects = files["objects"]
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
        twice = self.rows(
            "select any_value(uri), count(*) from files where problem = '' group by profile "
            "having count(*) > 1 order by 1"
        )
        if twice:
            extra = sum(count - 1 for _, count in twice)
            self.warnings.append(
                f"copies count once: {format_count(extra, 'file')} left out, such as {twice[0][0]}"
            )
        self.connection.execute(
            "create table profiles as select profile, min(uri) as uri, any_value(host) as "
            "host, any_value(cpu_model) as cpu_model, any_value(run) as run, any_value(program) "
            "as program, any_value(near_ns) as near_ns, any_value(bytes) as bytes from files "
            "where problem = '' group by profile"
        )
        clash = self.rows(
            "select min(uri), max(uri), count(*) from profiles group by run having count(*) > 1 "
            "order by 1"
        )
        if clash and not leave_out_bad:
            raise problem(
                f"{clash[0][0]} and {clash[0][1]} claim to be the same run of the same host and "
                "moment, and differ"
            )
        if clash:
            self.connection.execute(
                "delete from profiles where uri not in (select min(uri) from profiles group by run)"
            )
            self.left_out["claims to be the run of another file"] = sum(
                count - 1 for _, _, count in clash
            )
        idle = self.rows("select count(*) from profiles where near_ns <= 0 or bytes <= 0")[0][0]
        if idle:
            self.connection.execute("delete from profiles where near_ns <= 0 or bytes <= 0")
            self.left_out["has no near time or no data"] = idle
        if not self.rows("select count(*) from profiles")[0][0]:
            raise NearfarError("the fleet is empty: none of these files is a usable profile")

    def set_types(
        self, types: Mapping[tuple[str, str], str], costs: Mapping[str, LineCosts]
    ) -> None:
        """Set every profile's host type, and compute the cost of each object in far memory.

        If `costs` is empty, only the types are set.
        """
        connection = self.connection
        hosts = pa.table(
            {
                "host": pa.array([host for host, _ in types], pa.string()),
                "cpu_model": pa.array([cpu for _, cpu in types], pa.string()),
                "type": pa.array(list(types.values()), pa.string()),
            }
        )
        connection.register("given_types", hosts)
        connection.execute("create table host_types as select * from given_types")
        connection.unregister("given_types")
        connection.execute(
            "create table costs (type text, near double, chase double, stream double, wb double)"
        )
        connection.execute("create table chains (type text, step integer, ns double)")
        for name, cost in costs.items():
            connection.execute(
                "insert into costs values (?, ?, ?, ?, ?)",
                [name, cost.near_ns, cost.chase_ns, cost.stream_ns, cost.write_back_ns],
            )
            connection.executemany(
                "insert into chains values (?, ?, ?)",
                [[name, step, ns] for step, ns in enumerate(cost.independent_ns)],
            )
        if not costs:
            return
        last = max(len(cost.independent_ns) for cost in costs.values()) - 1
        # Parallelism is computed from the near time left for independent loads, at least 1 % of it.
        connection.execute(
            f"""
            create table placed as
            with sums as (
              select profile, sum(chase) as chase, sum(independent) as independent
              from read_parquet($objects) group by profile
            ), known as (
              select p.profile, p.near_ns, p.bytes as whole, t.type, c.chase as chase_ns,
                c.stream as stream_ns, c.wb as wb_ns,
                least({last}, greatest(0, round({STEPS} * log2(greatest(1.0, s.independent * c.near
                  / greatest(p.near_ns - s.chase * c.near, 0.01 * p.near_ns))))))::integer as step
              from profiles p join host_types t using (host, cpu_model)
              join costs c on c.type = t.type join sums s using (profile)
            )
            select k.profile, k.type, k.near_ns, k.whole, o.object, o.bytes,
              o.chase * k.chase_ns + o.independent * h.ns + o.stream * k.stream_ns
                + o.write_back * k.wb_ns as added
            from read_parquet($objects) o join known k using (profile)
            join chains h on h.type = k.type and h.step = k.step
            """,
            {"objects": self._objects},
        )

    def quick_slowdown(self, profile: str) -> float:
        """Return a profile's slowdown with all data far, from summed costs, not from `predict`."""
        added, near = self.rows(
            "select sum(added), any_value(near_ns) from placed where profile = ?", [profile]
        )[0]
        return 1.0 + float(added) / float(near)

    def sample(self, count: int) -> list[tuple[str, str, str]]:
        """Return (profile, uri, type) of `count` profiles in a fixed pseudo-random order."""
        return [
            (str(a), str(b), str(c))
            for a, b, c in self.rows(
                "select profile, uri, type from profiles join host_types using (host, cpu_model) "
                f"order by profile limit {count}"
            )
        ]

    def drawn(self, most: int) -> list[tuple[str, str, str]]:
        """Return (profile, uri, type) of at most `most` profiles of each type."""
        return [
            (str(a), str(b), str(c))
            for a, b, c in self.rows(
                "select profile, uri, type from profiles join host_types using (host, cpu_model) "
                "qualify row_number() over (partition by type order by profile) <= ? "
                "order by profile",
                [most],
            )
        ]

    def set_slowdowns(
        self, rows: Sequence[tuple[str, str, float, float, tuple[float, ...]]]
    ) -> None:
        """Store rows of (profile, type, near time, bytes, slowdown for each of `SHARES`)."""
        names = ", ".join(f"s{i} double" for i in range(len(SHARES)))
        self.connection.execute(
            "create table slowdowns (profile text, type text, near_ns double, whole double, "
            f"{names})"
        )
        places = ", ".join("?" for _ in range(4 + len(SHARES)))
        self.connection.executemany(
            f"insert into slowdowns values ({places})", [[*row[:4], *row[4]] for row in rows]
        )

    def forget(self) -> None:
        """Drop the tables that depend on far memory and types, before the next far memory."""
        for name in ("host_types", "costs", "chains", "placed", "slowdowns"):
            self.connection.execute(f"drop table if exists {name}")

    def spread(self, factor: float) -> None:
        """Compute every profile's slowdown for each far share of its memory.

        Objects move to far memory by cost per byte, cheapest first; the last one moves in part.
        """
        ways = ", ".join(
            f"1 + {factor} * sum(added * greatest(0, least(1, ({share} * whole - before) / "
            f"greatest(bytes, 1)))) / any_value(near_ns) as s{i}"
            for i, share in enumerate(SHARES)
        )
        self.connection.execute(
            f"""
            create table slowdowns as
            select profile, any_value(type) as type, any_value(near_ns) as near_ns,
              any_value(whole) as whole, {ways}
            from (select *, sum(bytes) over (partition by profile order by
                added / greatest(bytes, 1), object rows between unbounded preceding and
                1 preceding) as earlier, coalesce(earlier, 0) as before from placed)
            group by profile
            """
        )

    def curve(self, name: str) -> list[FleetCurvePoint]:
        """Return a type's slowdowns by share."""
        asked = ", ".join(
            f"sum(s{i} * near_ns) / sum(near_ns), quantile_cont(s{i}, 0.5), "
            f"quantile_cont(s{i}, 0.95)"
            for i in range(len(SHARES))
        )
        row = self.rows(f"select {asked} from slowdowns where type = ?", [name])[0]
        return [
            FleetCurvePoint(
                far_share=share,
                slowdown_mean=row[3 * i],
                slowdown_p50=row[3 * i + 1],
                slowdown_p95=row[3 * i + 2],
            )
            for i, share in enumerate(SHARES)
        ]

    def tolerating(self, name: str, limit: float) -> list[float]:
        """Return, for each share, the part of a type's memory whose programs keep the limit."""
        asked = ", ".join(
            f"sum(case when s{i} <= {limit!r} + 1e-9 then whole else 0 end) / sum(whole)"
            for i in range(len(SHARES))
        )
        row = self.rows(f"select {asked} from slowdowns where type = ?", [name])[0]
        return [float(value) for value in row]

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
                  select p.program, o.object, count(*) as count, sum(o.bytes)::bigint as size,
                    {factor} * sum(o.added) / (select sum(near_ns) from profiles) as cost
                  from placed o join profiles p using (profile) group by all
                )
                select * from summed
                where size >= 0.001 * (select sum(bytes) from profiles)
                order by cost / size, size desc, program, object limit {most}
                """
            )
        ]
