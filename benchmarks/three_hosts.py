"""Three hosts on one machine, by namespaces, and a sweep over them that is killed at random.

Each host has its own network, name, lock folder and mounts. A bridge joins the networks, and only
the first host, with scheduler and client, sees the sweep's folder. It needs root.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars

from nearfar.points.kind import decode_point
from nearfar.points.row import columns
from nearfar.sweep.dataset import axes_of
from nearfar.sweep.planning import plan

NAMES = ("head", "left", "right")
NETWORK = "10.77.0."
"""Start of the hosts' addresses, in networks that nothing else is in."""
POINTS, MEASURED, LINES = 1000, 60, 1_000_000
"""Points of the sweep, those of them that are measured, and lines of the others: about 10 ms."""
KILLS, SCHEDULES = 5, 20
SCHEDULER_GONE = 3
"""Exit code of a sweep whose scheduler was killed."""


def why_not() -> str:
    """Return why this machine cannot have such hosts; empty: it can."""
    made = subprocess.run(
        ["unshare", "--net", "--mount", "--uts", "ip", "link", "add", "br0", "type", "bridge"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "" if made.returncode == 0 else f"no network namespaces here ({made.stderr.strip()})"


@dataclass(frozen=True)
class Host:
    """One host: the process that holds its namespaces, and its address."""

    name: str
    pid: int
    address: str

    def words(self, *command: str) -> list[str]:
        """Return the command that runs another one on this host."""
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "--", *command]

    def do(self, *command: str) -> None:
        """Run a command to its end."""
        subprocess.run(self.words(*command), check=True, capture_output=True)


@contextlib.contextmanager
def hosts(hidden: Path) -> Iterator[list[Host]]:
    """Make the hosts; all but the first have an empty folder at `hidden`."""
    with contextlib.ExitStack() as stack:
        made = []
        for number, name in enumerate(NAMES):
            holder = subprocess.Popen(
                ["unshare", "--net", "--mount", "--uts", "sh", "-c", "echo ready; exec sleep 1d"],
                stdout=subprocess.PIPE,
            )
            stack.callback(holder.wait)
            stack.callback(holder.kill)
            assert holder.stdout is not None
            holder.stdout.readline()
            host = Host(name, holder.pid, f"{NETWORK}{number + 1}")
            made.append(host)
            host.do("hostname", name)
            host.do("mount", "-t", "tmpfs", "none", "/run/lock")
            host.do("ip", "link", "set", "lo", "up")
            if number == 0:
                host.do("ip", "link", "add", "br0", "type", "bridge")
                device = "br0"
            else:
                host.do("mount", "-t", "tmpfs", "none", str(hidden))
                device, end = "eth0", f"v{number}"
                made[0].do(
                    "ip", "link", "add", end, "type", "veth", "peer", "name", device,
                    "netns", str(host.pid),
                )  # fmt: skip
                made[0].do("ip", "link", "set", end, "master", "br0", "up")
            host.do("ip", "addr", "add", f"{host.address}/24", "dev", device)
            host.do("ip", "link", "set", device, "up")
        yield made


def write_sweep(folder: Path, log: Path) -> Path:
    """Write the sweep; measured points write their seed to the log of their host."""
    simulated = POINTS - MEASURED
    path = folder / "many.toml"
    path.write_text(f"""
[programs.traced]
command = "sh -c 'echo {{seed}} >> {log}/$(hostname)'"
seed = {list(range(MEASURED))}
[[simulate]]
far = ["optane-100-6dimm", "cxl-e3s-x8"]
pattern = "random"
region = "64MiB"
lines = {LINES}
seed = {list(range(1, simulated // 2 + 1))}
[[measure]]
program = "traced"
repetitions = 1
warm_up = 0
""")
    return path


@dataclass
class Cluster:
    """A scheduler and a client on the first host, a worker on each of the others."""

    hosts: Sequence[Host]
    folder: Path
    """Seen by all hosts: certificate and key, scratch."""
    sweep: Path
    deadline: Callable[[], float]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=sweep", "-days", "2",
             "-keyout", str(self.folder / "key"), "-out", str(self.folder / "crt")],
            check=True, capture_output=True,
        )  # fmt: skip

    @property
    def tls(self) -> list[str]:
        """Return the options with the certificate."""
        crt = str(self.folder / "crt")
        return ["--tls-ca-file", crt, "--tls-cert", crt, "--tls-key", str(self.folder / "key")]

    @property
    def address(self) -> str:
        """Return the scheduler's address."""
        return f"tls://{self.hosts[0].address}:8786"

    def start(self, name: str) -> None:
        """Start the scheduler, the client, or the worker of a host."""
        words = [sys.executable, "-m"]
        host = next((host for host in self.hosts if host.name == name), self.hosts[0])
        if name == "scheduler":
            words += ["distributed.cli.dask_scheduler", *self.tls, "--protocol", "tls"]
            words += ["--host", host.address, "--port", "8786", "--no-dashboard"]
            words += ["--dashboard-address", "127.0.0.1:0"]
        elif name == "client":
            words += ["nearfar", "sweep", str(self.sweep), "--scheduler", self.address, *self.tls]
        else:
            words += ["distributed.cli.dask_worker", self.address, *self.tls, "--no-nanny"]
            words += ["--no-dashboard", "--nthreads", "1", "--resources", "machine=1"]
            words += ["--local-directory", str(self.folder / name)]
        log = (self.folder / f"{name}.log").open("ab")
        with log:
            self.running[name] = subprocess.Popen(host.words(*words), stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        """End one with SIGKILL."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def restart(self, name: str) -> None:
        """Kill and start again; without its scheduler a sweep ends, and goes on with the next."""
        self.kill(name)
        if name == "scheduler":
            code = self.running.pop("client").wait(self.deadline())
            # A client may have had all it needed when the scheduler was killed.
            assert code == SCHEDULER_GONE or self.is_done(code), f"{code}: {self.said('client')}"
            for host in self.hosts[1:]:
                self.kill(host.name)
            self.begin()
        else:
            self.start(name)

    def is_done(self, code: int | None) -> bool:
        """Return whether a client that ended with `code` did so because all points are there."""
        return code == 0 and len(rows_of(self.sweep.with_suffix(""))) == POINTS

    def begin(self) -> None:
        """Start all, and the client when the workers are there."""
        self.start("scheduler")
        for host in self.hosts[1:]:
            self.start(host.name)
        script = (
            "import sys, distributed as d; a = sys.argv; s = d.Security(require_encryption=True,"
            "tls_ca_file=a[2], tls_client_cert=a[2], tls_client_key=a[3]);"
            "c = d.Client(a[1], security=s, timeout=float(a[4]));"
            "c.wait_for_workers(2, timeout=float(a[4]))"
        )
        crt, key, wait_s = str(self.folder / "crt"), str(self.folder / "key"), self.deadline()
        words = (sys.executable, "-c", script, self.address, crt, key, str(wait_s))
        self.hosts[0].do(*words)
        self.start("client")

    def said(self, name: str) -> str:
        """Return the end of what one printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]

    def end(self) -> None:
        """Kill all that are left."""
        for name in list(self.running):
            self.kill(name)


def rows_of(results: Path) -> dict[str, dict[str, Any]]:
    """Return the finished rows by point; an error if a point has two."""
    rows: dict[str, dict[str, Any]] = {}
    for part in sorted((results / "results").glob("part-*.parquet")):
        for row in polars.read_parquet(part).to_dicts():
            if rows.setdefault(row["point"], row) is not row:
                raise AssertionError(f"point {row['point']} was kept twice")
    return rows


_undisturbed: dict[bytes, dict[str, Any]] = {}
"""Values of simulated points by their parameters: all schedules have the same."""


def expected_rows(sweep: Path) -> dict[str, dict[str, Any]]:
    """Return what the simulated points of a sweep come to, computed here and undisturbed."""
    planned = plan(sweep)
    rows: dict[str, dict[str, Any]] = {}
    for point in planned.matrix.points.values():
        given = msgspec.json.decode(point.parameters)
        rows[point.id] = axes_of(given)
        if point.kind == "simulate":
            if point.parameters not in _undisturbed:
                values = decode_point(point.kind, given).run(planned.inputs)[0]
                _undisturbed[point.parameters] = msgspec.structs.asdict(values)
            rows[point.id] |= _undisturbed[point.parameters]
    return rows


def survive(base: Path, seed: int, deadline: Callable[[], float]) -> list[str]:
    """Run the sweep under the schedule of `seed`; return the names of what was killed.

    Raise AssertionError if data differ, a point is missing, or a finished one was computed again.
    """
    hidden, shared, log = base / "hidden", base / "shared", base / "log"
    for folder in (hidden, shared, log):
        folder.mkdir()
    sweep = write_sweep(hidden, log)
    results = sweep.with_suffix("")
    rng = random.Random(seed)
    thresholds = sorted(rng.sample(range(POINTS // 50, POINTS * 4 // 5), KILLS))
    killed = [rng.choice([*NAMES[1:], "client", "scheduler"]) for _ in thresholds]
    with hosts(hidden) as made:
        cluster = Cluster(made, shared, sweep, deadline)
        try:
            before = _run_and_kill(cluster, dict(zip(thresholds, killed, strict=True)), results)
        finally:
            cluster.end()
    after = rows_of(results)
    planned = expected_rows(sweep)
    assert after.keys() == planned.keys(), f"{len(after)} of {len(planned)} points"
    for point, row in planned.items():
        assert {name: after[point][name] for name in row} == row, after[point]
    # Even times are unchanged: no finished point was computed again.
    assert all(after[point] == row for point, row in before.items())
    assert set(next(iter(after.values()))) == set(columns())
    assert {row["host"] for row in after.values()} <= set(NAMES[1:])
    _check_runs(log)
    assert json.loads((results / "sweep.json").read_text())["ended"] == "done"
    return killed


def _run_and_kill(
    cluster: Cluster, kills: dict[int, str], results: Path
) -> dict[str, dict[str, Any]]:
    """Kill each name when so many points are finished; return the rows of these moments."""
    before: dict[str, dict[str, Any]] = {}
    cluster.begin()
    for threshold, name in kills.items():
        client = cluster.running["client"]
        end = time.monotonic() + cluster.deadline()
        while len(now := rows_of(results)) < threshold and client.poll() is None:
            assert time.monotonic() < end, f"{len(now)} points: {cluster.said('client')}"
            time.sleep(0.1)
        before |= now
        code = client.poll()
        assert code is None or cluster.is_done(code), cluster.said("client")
        cluster.restart(name)
    assert cluster.running["client"].wait(2 * cluster.deadline()) == 0, cluster.said("client")
    return before


def _check_runs(log: Path) -> None:
    runs = Counter(line for file in log.iterdir() for line in file.read_text().split())
    assert len(runs) == MEASURED
    # A kill loses at most what each of two workers ran, and what was on its way.
    assert runs.total() <= MEASURED + 4 * KILLS, runs
