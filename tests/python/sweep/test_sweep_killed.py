"""kill -9 of client, worker and scheduler: finished points are neither lost nor repeated."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest
from patience import patience

from nearfar.points.kind import decode_point
from nearfar.points.row import columns
from nearfar.sweep.batch import machine_alone
from nearfar.sweep.dataset import axes_of
from nearfar.sweep.planning import plan

PATIENCE_S = patience(120)


def write_sweep(folder: Path, simulated: int, measured: int, lines: int) -> Path:
    """Write simulated points, and measured points that record each time they run."""
    log = folder / "log"
    seeds = ", ".join(str(seed) for seed in range(1, simulated // 2 + 1))
    path = folder / "many.toml"
    path.write_text(f"""
[programs.traced]
command = "sh -c 'echo {{seed}} >> {log}; sleep 0.02'"
seed = [{", ".join(str(seed) for seed in range(measured))}]

[[simulate]]
far = ["optane-100-6dimm", "cxl-e3s-x8"]
pattern = "random"
region = "64MiB"
lines = {lines}
seed = [{seeds}]

[[measure]]
program = "traced"
repetitions = 1
warm_up = 0
""")
    return path


@contextlib.contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def rows_so_far(results: Path) -> dict[str, dict[str, Any]]:
    """Return the finished rows, in parts and journals; complete files and lines only."""
    collected: dict[str, dict[str, Any]] = {}
    journals = sorted((results / "journal").glob("*.jsonl"))
    texts = []
    for path in journals:
        with contextlib.suppress(FileNotFoundError):
            texts.append(path.read_bytes())
    # Parts are read after the journals: a journal that became a part meanwhile is seen there.
    for part in (results / "results").glob("part-*.parquet"):
        collected |= {row["point"]: row for row in polars.read_parquet(part).to_dicts()}
    for text in texts:
        for line in text.rpartition(b"\n")[0].splitlines():
            row = json.loads(line.partition(b" ")[2]).get("row")
            if row:
                collected[row["point"]] = {name: row.get(name) for name in columns()}
    return collected


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        assert time.monotonic() < end
        time.sleep(0.02)


@contextlib.contextmanager
def frozen_after(
    wanted: int, finished: Callable[[], int], process: subprocess.Popen[bytes]
) -> Iterator[None]:
    """Let points run briefly until more than `wanted` are finished; none runs meanwhile."""
    most, end = -1, 0.0
    while True:
        with machine_alone():
            count = finished()
            if count > wanted:
                yield
                return
            if count > most:
                most, end = count, time.monotonic() + PATIENCE_S
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            assert time.monotonic() < end, f"no point after the first {most} was finished"
        time.sleep(0.03)


def run_and_disturb(folder: Path, simulated: int, measured: int, lines: int) -> None:
    path = write_sweep(folder, simulated, measured, lines)
    results = folder / "many"
    address = folder / "scheduler.json"
    verb = ("nearfar", "sweep", str(path))
    total = simulated + measured

    def finished() -> int:
        return len(rows_so_far(results)) if results.exists() else 0

    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(
            started(
                *("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"),
                *("--no-dashboard", "--scheduler-file", str(address)),
            )
        )
        # Dask writes it with a delay.
        wait_for(lambda: address.exists() and address.read_text().rstrip()[-1:] == "}", scheduler)
        where = json.loads(address.read_text())["address"]
        workers = [
            stack.enter_context(
                started(
                    *("distributed.cli.dask_worker", where, "--no-nanny", "--no-dashboard"),
                    *("--nthreads", "1", "--local-directory", str(folder), "--resources"),
                    "machine=1" if number == 0 else "none=1",
                )
            )
            for number in range(2)
        ]
        client = stack.enter_context(started(*verb, "--scheduler", where))
        with frozen_after(total // 6, finished, client):
            client.send_signal(signal.SIGKILL)
            client.wait()
        before = rows_so_far(results)

        client = stack.enter_context(started(*verb, "--scheduler", where))
        with frozen_after(total // 3, finished, client):
            workers[1].send_signal(signal.SIGKILL)
        with frozen_after(total // 2, finished, client):
            before = rows_so_far(results) | before
            scheduler.send_signal(signal.SIGKILL)
        _, message = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 3
        last = message.decode().strip().splitlines()[-1]
        assert last.startswith("nearfar: the scheduler is gone"), message.decode()
        for worker in workers:
            worker.kill()
            worker.wait()
        before = rows_so_far(results) | before
    assert total // 2 < len(before) < total, len(before)

    again = subprocess.run(
        [sys.executable, "-m", *verb, "--workers", "1", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    record = json.loads(again.stdout)
    assert record["finished_before"] >= len(before)
    assert record["finished_before"] + record["finished_now"] == total
    check_whole(path, results, before, total)
    runs = Counter((folder / "log").read_text().split())
    assert len(runs) == measured
    # It was killed four times within one point; one point is measured at a time.
    assert sum(runs.values()) <= measured + 4


def check_whole(path: Path, results: Path, before: dict[str, dict[str, Any]], total: int) -> None:
    table = polars.read_parquet(results / "results" / "*.parquet")
    assert (len(table), table["point"].n_unique()) == (total, total)
    collected = {row["point"]: row for row in table.to_dicts()}
    # Finished points were not computed again: even their times are unchanged.
    assert all(collected[point] == row for point, row in before.items())
    assert not list((results / "journal").iterdir())
    planned = plan(path)
    for point in planned.matrix.points.values():
        given = msgspec.json.decode(point.parameters)
        row = collected[point.id]
        assert {name: row[name] for name in axes_of(given)} == axes_of(given)
        if point.kind == "simulate":
            undisturbed = decode_point(point.kind, given).run(planned.inputs)[0]
            expected = msgspec.structs.asdict(undisturbed)
            assert {name: row[name] for name in expected} == expected


def test_finished_points_survive_client_worker_and_scheduler(tmp_path: Path) -> None:
    run_and_disturb(tmp_path, simulated=90, measured=9, lines=200_000)


@pytest.mark.long
def test_a_long_sweep_survives_them(tmp_path: Path) -> None:
    run_and_disturb(tmp_path, simulated=2000, measured=200, lines=1_000_000)


@pytest.mark.long
def test_a_point_that_kills_its_worker_affects_no_other(tmp_path: Path) -> None:
    path = tmp_path / "deadly.toml"
    path.write_text("""
[programs.deadly]
command = "sh -c 'test {seed} -ne 2 || kill -9 $PPID'"
seed = [1, 2, 3, 4]
[[measure]]
program = "deadly"
repetitions = 1
[[simulate]]
far = "cxl-e3s-x8"
seed = [1, 2, 3, 4]
""")
    ran = subprocess.run(
        [sys.executable, "-m", "nearfar", "sweep", str(path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    record = json.loads(ran.stdout)
    assert record["finished_now"] == 7
    (failed,) = record["failed"]
    assert json.loads(failed["parameters"])["seed"] == 2
    assert "killed" in failed["error"]


def test_ctrl_c_is_a_sentence_and_leaves_no_process(tmp_path: Path) -> None:
    end_and_check(tmp_path, signal.SIGINT)


def test_sigterm_is_a_sentence_and_leaves_no_process(tmp_path: Path) -> None:
    end_and_check(tmp_path, signal.SIGTERM)


def end_and_check(tmp_path: Path, told: signal.Signals) -> None:
    path = tmp_path / "slow.toml"
    path.write_text(f"""
[programs.slow]
command = "sh -c 'echo $$ > {tmp_path}/pid; exec sleep 600'"
[[measure]]
program = "slow"
""")
    process = subprocess.Popen(
        [sys.executable, "-m", "nearfar", "sweep", str(path), "--workers", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        pid = tmp_path / "pid"
        end = time.monotonic() + PATIENCE_S
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.05)
        # Measured processes do not ignore these signals.
        status = Path("/proc", pid.read_text().strip(), "status").read_text()
        assert "SigBlk:\t0000000000000000" in status
        # A terminal signals the whole group, as batch systems do; users press more than once.
        for _ in range(3):
            os.killpg(process.pid, told)
            time.sleep(0.1)
        _, message = process.communicate(timeout=PATIENCE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, message
    assert "Traceback" not in message
    assert "nearfar: interrupted" in message.splitlines()[-1]
    # Gone, or a zombie without a waiting parent: its command line is empty.
    with contextlib.suppress(OSError):
        assert not Path("/proc", pid.read_text().strip(), "cmdline").read_bytes()
