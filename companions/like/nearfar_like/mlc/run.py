"""A run of one or several modes: it prints tables and collects results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from nearfar.base.errors import CommandError, ExitCode
from nearfar.machine.sysfs import format_list
from nearfar_like.bench import Bench, BufferPlace, Chase, NodeFacts, Values, Worker
from nearfar_like.mlc.arguments import MlcArguments
from nearfar_like.mlc.sizes import mib
from nearfar_like.mlc.traffic import MlcTraffic, kernel_of
from nearfar_like.noise import RunNoise
from nearfar_like.repeat import summed

LATENCY_BYTES = 200_000 << 10
"""Default buffer of the latency thread, bytes, as in MLC."""
BANDWIDTH_BYTES = 100_000 << 10
"""Default buffer of each bandwidth thread, bytes, as in MLC."""

LLC_MULTIPLE = 4
"""Smallest default buffer as a multiple of the last-level cache: a smaller one would measure the
cache. MLC's defaults grow in the same way."""

DELAY_LINES = 2
"""Lines on the memory bus per delay. MLC's manual states a delay "between requests", but its
published tables fit one line of 64 bytes per half a delay (Xeon Platinum 8180: 311 MB/s per thread
at 1000 cycles of 2.5 GHz)."""

PAUSE_BYTES = 2048
"""Bytes after which a worker pauses."""

STRIDE_RANDOM = 128
"""Default stride of random latency, as in MLC: past the adjacent-line prefetcher."""


@dataclass
class MlcRun:
    """The state that modes share."""

    bench: Bench
    arguments: MlcArguments
    say: Callable[[str], None]
    noise: RunNoise
    notes: list[str] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)

    def lines(self, lines: list[str]) -> None:
        """Print several lines."""
        for line in lines:
            self.say(line)

    def note(self, text: str) -> None:
        """Print a difference from the request, at most once."""
        if text not in self.notes:
            self.notes.append(text)
            self.say(f"*** {text}")

    def check(self, chase: Chase | None, workers: list[Worker]) -> None:
        """Refuse what cannot be measured and print notes before a table begins."""
        for text in self.bench.check(chase, workers):
            self.note(text)

    def measure(self, chase: Chase | None, workers: list[Worker]) -> Values:
        """Check, measure and print notes on differences from the request."""
        self.check(chase, workers)
        self.noise.next()
        values = self.bench.measure(chase, workers, self.arguments.effort)
        self.noise.samples("latency", values.ns)
        self.noise.samples("bandwidth", [sum(each) for each in zip(*values.gb_per_s, strict=True)])
        for text in values.notes:
            self.note(text)
        return values

    # CPUs and nodes

    def nodes(self) -> list[NodeFacts]:
        """Return the nodes, by number."""
        return self.bench.nodes()

    def node(self, number: int, where: str) -> NodeFacts:
        """Return a node, or refuse and list the nodes."""
        for node in self.nodes():
            if node.id == number:
                if node.memory_bytes == 0:
                    raise CommandError(
                        f"{where}: node {number} has no memory: name another node, or bring its "
                        "memory online",
                        ExitCode.MACHINE_LACKS,
                    )
                return node
        there = ", ".join(str(node.id) for node in self.nodes())
        raise CommandError(
            f"{where}: there is no node {number}; there are: {there}", ExitCode.MACHINE_LACKS
        )

    def usable(self, cpu: int, where: str) -> int:
        """Return `cpu`, or refuse and list the usable CPUs."""
        cpus = self.all_cpus()
        if cpu not in cpus:
            raise CommandError(
                f"{where}: this process may not use CPU {cpu}; it may use {format_list(cpus)}",
                ExitCode.MACHINE_LACKS,
            )
        return cpu

    def all_cpus(self) -> tuple[int, ...]:
        """Return all CPUs, in order."""
        return tuple(sorted(cpu for node in self.nodes() for cpu in node.cpus))

    def node_of(self, cpu: int) -> int:
        """Return the node of a CPU."""
        return next(node.id for node in self.nodes() if cpu in node.cpus)

    def bandwidth_cpus(self, without: int | None = None) -> tuple[int, ...]:
        """Return the CPUs of bandwidth threads by ``-k``, ``-m`` and ``-X``."""
        chosen = self.arguments.cpus
        if chosen is not None:
            for cpu in chosen:
                self.usable(cpu, "-k" if self.arguments.has("k") else "-m")
            if without in chosen:
                raise CommandError(
                    f"CPU {without} measures latency and cannot also make bandwidth: leave it out "
                    "of the list, choose another with -c, or use -T"
                )
        cpus = chosen or self.all_cpus()
        if self.arguments.has("X"):
            cpus = self.bench.one_per_core(cpus)
        return tuple(cpu for cpu in cpus if cpu != without)

    # threads and buffers

    def latency_bytes(self) -> int:
        """Return the buffer of the latency thread."""
        requested = self.arguments.number("b")
        return requested or max(LATENCY_BYTES, LLC_MULTIPLE * self.bench.llc_bytes)

    def bandwidth_bytes(self, threads: int) -> int:
        """Return the buffer of each of `threads`."""
        requested = self.arguments.number("b")
        return requested or max(BANDWIDTH_BYTES, LLC_MULTIPLE * self.bench.llc_bytes // threads)

    def chase(self, cpu: int, place: BufferPlace, size_bytes: int) -> Chase:
        """Return the latency thread by the options."""
        arguments = self.arguments
        at_random = arguments.random_latency
        stride = arguments.number("l") or (STRIDE_RANDOM if at_random else 64)
        window = arguments.window_bytes if at_random else 0
        return Chase(
            cpu,
            place,
            size_bytes,
            sequential=not at_random,
            stride_bytes=stride,
            # A window as large as the buffer has no effect.
            window_bytes=0 if window >= size_bytes else window,
            pages=arguments.pages,
            home_cpu=arguments.number("i"),
        )

    def workers(
        self,
        cpus: tuple[int, ...],
        place: BufferPlace,
        size_bytes: int,
        traffic: MlcTraffic,
        delay: int = 0,
        *,
        random: bool = False,
        where: str = "",
    ) -> list[Worker]:
        """Return a thread for each of `cpus` that makes `traffic`."""
        arguments = self.arguments
        stride = arguments.number("l") or 64
        at_random = random or arguments.has("U")
        kernel = kernel_of(
            traffic, random=at_random, stride_bytes=stride, where=where or f"-{traffic.name}"
        )
        flushed = arguments.has("Q") or (arguments.has("P") and place.folder is not None)
        if flushed and not traffic.non_temporal and traffic.name != "R":
            if traffic.name != "W5" or stride > 64:
                raise CommandError(
                    f"{where or '-' + traffic.name}: CLFLUSHOPT after stores (-P, -Q) goes with "
                    "W5 only: nearfar has no kernel of reads and flushed stores"
                )
            kernel = "persist-clflushopt" + ("" if at_random else "-sequential")
        if flushed and traffic.non_temporal:
            self.note("non-temporal stores leave nothing in caches to flush: -P, -Q change nothing")
        lines = arguments.number("n") if at_random else None
        return [
            Worker(
                cpu,
                place,
                size_bytes,
                kernel,
                traffic.read_share,
                stride,
                self.pause_ns(delay, traffic),
                shared=arguments.has("u"),
                window_bytes=64 * (lines or 0),
                pages=arguments.pages,
            )
            for cpu in cpus
        ]

    def pause_ns(self, delay: int, traffic: MlcTraffic) -> float:
        """Return the pause of a worker after every 2 KiB for MLC's delay in cycles, ns."""
        lines = PAUSE_BYTES / 64 * traffic.bus_factor
        return delay / self.bench.ghz * lines / DELAY_LINES

    # output

    def head(self, latency_bytes: int | None, bandwidth_bytes: int | None) -> None:
        """Print the sizes of the buffers, and whether latency accesses are random."""
        if bandwidth_bytes is not None:
            size = mib(bandwidth_bytes)
            self.say(f"Using buffer size of {size}/thread, read and written")
        elif latency_bytes is not None:
            self.say(f"Using buffer size of {mib(latency_bytes)}")
        if latency_bytes is not None and not (self.arguments.has("r") or self.arguments.has("e")):
            self.note(
                "Prefetchers stay on (MLC switches them off by msr, nearfar never): so, enabling "
                "random access for latency measurements"
            )

    def threads_line(self) -> None:
        """Print which threads make bandwidth."""
        which = "only one thread" if self.arguments.has("X") else "all the threads"
        self.say(f"Using {which} from each core if Hyper-threading is enabled")

    def units_line(self) -> None:
        """Print the definition of MB."""
        self.say("Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)")

    def spread(self, what: str, estimate: dict[str, Any], unit: str) -> None:
        """Keep the interval of a printed value, and print it with ``-v``."""
        self.noise.interval(what, estimate, unit)
        if self.arguments.has("v"):
            low, high = estimate[f"low_{unit}"], estimate[f"high_{unit}"]
            self.say(f"  {what}: [{low:.1f}, {high:.1f}] in {estimate['samples']} samples")


def mb_per_s(values: Values, traffic: list[MlcTraffic]) -> dict[str, Any]:
    """Return the bus bandwidth of all workers together in MB/s, with its interval."""
    totals = [
        1e3 * sum(rate * kind.bus_factor for rate, kind in zip(each, traffic, strict=True))
        for each in zip(*values.gb_per_s, strict=True)
    ]
    return summed(totals, "mb_per_s")


def each_mb_per_s(values: Values, traffic: list[MlcTraffic]) -> list[float]:
    """Return MB/s on the bus of each worker."""
    return [
        1e3 * median(rates) * kind.bus_factor
        for rates, kind in zip(values.gb_per_s, traffic, strict=True)
    ]
