"""``--loaded_latency``: one thread times dependent loads while the others make traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nearfar.base.errors import CommandError, ExitCode
from nearfar_like.bench import BufferPlace, Values, Worker
from nearfar_like.mlc import tables
from nearfar_like.mlc.arguments import DELAYS
from nearfar_like.mlc.run import MlcRun, each_mb_per_s, mb_per_s
from nearfar_like.mlc.sizes import number
from nearfar_like.mlc.thread_file import ThreadLine, read_thread_file
from nearfar_like.mlc.traffic import MlcTraffic
from nearfar_like.repeat import summed


def run(run: MlcRun) -> dict[str, Any]:
    """Measure at every delay of ``-d``, ``-g`` or MLC's table."""
    arguments = run.arguments
    path = arguments.path("o")
    lines = read_thread_file(path) if path is not None else []
    latency_cpu = None if arguments.has("T") else _latency_cpu(run)
    cpus = () if lines else run.bandwidth_cpus(without=latency_cpu)
    if not lines and not cpus:
        raise CommandError(
            "latency under load needs a CPU for latency and another one for traffic; this process "
            "may use 1: use --idle_latency, or -T",
            ExitCode.MACHINE_LACKS,
        )
    size = run.bandwidth_bytes(max(len(cpus), 1))
    node = arguments.number("j")
    if node is not None:
        run.node(node, "-j")
    place = BufferPlace(node)
    chase = None
    if latency_cpu is not None:
        chase = run.chase(latency_cpu, place, _latency_bytes(run, lines, size))
    run.head(chase.size_bytes if chase else None, None if lines else size)
    plans = []
    for delay in _delays(run):
        if lines:
            workers, kinds = _workers_of_lines(run, lines, delay, latency_cpu)
        else:
            workers = run.workers(cpus, place, size, arguments.traffic, delay)
            kinds = [arguments.traffic] * len(workers)
        run.check(chase, workers)
        plans.append((delay, workers, kinds))
    run.say("")
    run.say("Measuring Loaded Latencies for the system")
    run.threads_line()
    run.say(f"Using per-thread traffic of {path}" if lines else _traffic_line(arguments.traffic))
    run.lines(tables.loaded_head())
    rows = []
    for delay, workers, kinds in plans:
        values = run.measure(chase, workers)
        bandwidth = mb_per_s(values, kinds)
        latency = summed(values.ns, "ns") if chase else None
        if latency is not None:
            # As in MLC, the bandwidth includes the latency thread's own lines.
            _add_to_bandwidth(bandwidth, 64e3 / latency["value_ns"])
        run.say(
            tables.loaded_row(
                delay, latency["value_ns"] if latency else 0.0, bandwidth["value_mb_per_s"]
            )
        )
        row: dict[str, Any] = {"delay_cycles": delay, "bandwidth": bandwidth}
        if latency is not None:
            row["latency"] = latency
            run.spread(f"latency at delay {delay}", latency, "ns")
        run.spread(f"bandwidth at delay {delay}", bandwidth, "mb_per_s")
        row["threads"] = _threads(run, values, workers, kinds)
        rows.append(row)
    return {"latency_cpu": latency_cpu, "rows": rows}


def _threads(
    run: MlcRun, values: Values, workers: list[Worker], kinds: list[MlcTraffic]
) -> list[dict[str, Any]]:
    """Return each worker's bandwidth; print it with ``-B``."""
    rates = each_mb_per_s(values, kinds)
    threads = list(zip(workers, kinds, rates, strict=True))
    if run.arguments.has("B"):
        for worker, kind, rate in threads:
            run.say(f"  CPU {worker.cpu}, {kind.name}, {worker.place}: {rate:.1f} MB/sec")
    return [
        {"cpu": worker.cpu, "traffic": kind.name, "mb_per_s": rate}
        for worker, kind, rate in threads
    ]


def _traffic_line(kind: MlcTraffic) -> str:
    return f"Using {kind.title} traffic type"


def _add_to_bandwidth(bandwidth: dict[str, Any], added_mb_per_s: float) -> None:
    for key in ("value_mb_per_s", "low_mb_per_s", "high_mb_per_s"):
        bandwidth[key] += added_mb_per_s


def _latency_cpu(run: MlcRun) -> int:
    chosen = run.arguments.number("c")
    return run.all_cpus()[0] if chosen is None else run.usable(chosen, "-c")


def _latency_bytes(run: MlcRun, lines: list[ThreadLine], size: int) -> int:
    """Return the latency thread's buffer: as large as a bandwidth thread's, as in MLC."""
    return run.arguments.number("b") or (run.latency_bytes() if lines else size)


def _delays(run: MlcRun) -> tuple[int, ...]:
    delay = run.arguments.number("d")
    if delay is not None:
        return (delay,)
    path = run.arguments.path("g")
    return DELAYS if path is None else read_delays(path)


def read_delays(path: Path) -> tuple[int, ...]:
    """Read a file of ``-g``: one delay a line, ``#`` starts a comment."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text file"
        raise CommandError(f"-g: cannot read {path}: {why}") from error
    delays = []
    for count, line in enumerate(text.splitlines(), start=1):
        for word in line.split("#", 1)[0].split():
            delays.append(number(word, f"{path}, line {count}"))
    if not delays:
        raise CommandError(f"-g: {path} has no delay; write one number of cycles a line")
    return tuple(delays)


def _workers_of_lines(
    run: MlcRun, lines: list[ThreadLine], delay: int, latency_cpu: int | None
) -> tuple[list[Worker], list[MlcTraffic]]:
    """Return the workers of a per-thread file; the latency thread's own CPU makes no traffic."""
    workers: list[Worker] = []
    kinds: list[MlcTraffic] = []
    for line in lines:
        cpus = tuple(run.usable(cpu, line.where) for cpu in line.cpus)
        if run.arguments.has("X"):
            cpus = run.bench.one_per_core(cpus)
        if latency_cpu in cpus:
            run.note(f"CPU {latency_cpu} measures latency and makes no traffic ({line.where})")
            cpus = tuple(cpu for cpu in cpus if cpu != latency_cpu)
        if line.place.node is not None:
            run.node(line.place.node, line.where)
        if line.second is not None and line.second != line.place:
            raise CommandError(
                f"{line.where}: {line.traffic.name} from two different memories in one thread is "
                "not possible with nearfar's kernels: write a line for each memory, with separate "
                "CPUs",
            )
        line_workers = run.workers(
            cpus,
            line.place,
            line.size_bytes,
            line.traffic,
            delay if line.delay is None else line.delay,
            random=line.random,
            where=line.where,
        )
        workers += line_workers
        kinds += [line.traffic] * len(line_workers)
    if not workers:
        raise CommandError(
            f"-o {run.arguments.path('o')}: no CPU is left to make traffic: add lines, or use -T"
        )
    return workers, kinds
