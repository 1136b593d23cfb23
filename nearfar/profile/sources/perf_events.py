"""Perf events of a program about to start.

The interface is that of native/profile/counters/counters.h. The program's process opens the events
before its exec, so that they count it and its children only; nearfar receives the descriptors
through a socket and reads them during the run.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator, Sequence
from functools import cache

from nearfar.base.errors import CommandError, ExitCode
from nearfar.native_files import native_file
from nearfar.profile.sources.pmu import CounterEvent

PHASES, EVENTS = 256, 16
ANY_CPU = -1
_AT_ONCE = 200
"""Descriptors per message: the kernel allows 253."""

_FIELDS = {"IP": 0, "TID": 1, "TIME": 2, "ADDR": 3, "PERIOD": 8, "WEIGHT": 14, "DATA_SRC": 15}
"""Bit numbers of PERF_SAMPLE_*."""


def sample_type(event: CounterEvent) -> int:
    """Return the requested fields of the event's samples."""
    wanted = [*("IP", "TID", "TIME", "ADDR", "PERIOD")]
    wanted += ["WEIGHT", "DATA_SRC"] if event.has_source else []
    return sum(1 << _FIELDS[name] for name in wanted)


class PerfEvent(ctypes.Structure):
    """struct nf_perf_event."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("precise", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
        ("is_rate", ctypes.c_uint32),
        ("with_kernel", ctypes.c_uint32),
    )

    @classmethod
    def of(cls, event: CounterEvent, sampled: bool) -> PerfEvent:
        """Convert `event` to the kernel request that samples or only counts it."""
        return cls(
            event.type,
            event.precise if sampled else 0,
            event.config,
            event.config1,
            0,
            sample_type(event) if sampled else 0,
            event.period if sampled else 0,
            int(event.is_rate),
            int(event.with_kernel),
        )


class _Count(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_uint64),
        ("enabled_ns", ctypes.c_uint64),
        ("running_ns", ctypes.c_uint64),
    )


class PerfFacts(ctypes.Structure):
    """struct nf_perf_facts."""

    _fields_ = (
        ("samples", ctypes.c_uint64),
        ("lost", ctypes.c_uint64),
        ("throttled", ctypes.c_uint64),
        ("broken", ctypes.c_uint64),
        ("of_others", ctypes.c_uint64),
        ("addressed", ctypes.c_uint64),
        ("counts", (_Count * EVENTS) * PHASES),
    )


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_file("libnearfar_replay.so")))
    numbers = ctypes.POINTER(ctypes.c_int32)
    library.nf_perf_open.argtypes = [ctypes.POINTER(PerfEvent), ctypes.c_int32]
    library.nf_perf_attach.argtypes = [
        *(numbers, ctypes.c_uint32, ctypes.c_int32),
        *(numbers, ctypes.c_uint32, ctypes.POINTER(PerfEvent)),
    ]
    return library


def try_open(event: CounterEvent, sampled: bool) -> int:
    """Return 0 if this process may count (or sample) the event, or the error number."""
    wanted = PerfEvent.of(event, sampled)
    file: int = _library().nf_perf_open(ctypes.byref(wanted), ANY_CPU)
    if file < 0:
        return -file
    os.close(file)
    return 0


class PerfWatch:
    """Counted and sampled events of one program."""

    def __init__(
        self, counted: Sequence[CounterEvent], sampled: CounterEvent | None, cpus: Sequence[int]
    ) -> None:
        """Count `counted`; sample `sampled` on each of `cpus`."""
        _library()
        self._counted = list(counted)
        self._sampled = sampled
        self._cpus = list(cpus) if sampled is not None else []
        self._ours, self._childs = socket.socketpair()
        self._error = ""

    def open_in_child(self) -> None:
        """Open all events; called in the program's process before its exec."""
        self._ours.close()
        files: list[int] = []
        for event in self._counted:
            files.append(_open(event, ANY_CPU, sampled=False))
        for cpu in self._cpus:
            assert self._sampled is not None
            files.append(_open(self._sampled, cpu, sampled=True))
        worst = min(files, default=0)
        if worst < 0:
            self._childs.sendall(bytes([-worst]))
        else:
            self._childs.sendall(b"\0")
            for begin in range(0, len(files), _AT_ONCE):
                socket.send_fds(self._childs, [b"\0"], files[begin : begin + _AT_ONCE])
        self._childs.recv(1)  # wait until nearfar reads them

    def attach(self) -> None:
        """Receive the descriptors from the starting program; called in a separate thread."""
        try:
            self._attach()
        except OSError as error:
            self._error = error.strerror or str(error)
        finally:
            with contextlib.suppress(OSError):
                self._ours.sendall(b"\0")
            self._ours.close()

    def _attach(self) -> None:
        """Receive the events' descriptors, and give them to the native reader."""
        word = self._ours.recv(1)
        if not word:
            return  # the program could not be started
        if word[0]:
            self._error = os.strerror(word[0])
            return
        files = list(self._receive())
        counted, sampled = files[: len(self._counted)], files[len(self._counted) :]
        names = [event.name for event in self._counted]
        at = names.index("instructions") if "instructions" in names else -1
        wanted = PerfEvent() if self._sampled is None else PerfEvent.of(self._sampled, sampled=True)
        error = _library().nf_perf_attach(
            *(_numbers(counted), len(counted), at),
            *(_numbers(sampled), len(sampled), ctypes.byref(wanted)),
        )
        self._error = os.strerror(error) if error else ""

    def _receive(self) -> Iterator[int]:
        left = len(self._counted) + len(self._cpus)
        while left:
            _, files, _, _ = socket.recv_fds(self._ours, 1, _AT_ONCE)
            if not files:
                raise OSError("the program ended before its counters were open")
            yield from files
            left -= len(files)

    def close(self) -> None:
        """Close the program's end of the socket, which ends a waiting thread."""
        self._childs.close()

    def facts(self) -> PerfFacts:
        """Return the samples and counts; refuse if the events could not be opened."""
        if self._error:
            raise CommandError(
                f"the program's counters could not be opened: {self._error}", ExitCode.MACHINE_LACKS
            )
        facts = PerfFacts()
        _library().nf_perf_read_facts(ctypes.byref(facts))
        return facts

    def counts(self, facts: PerfFacts) -> tuple[dict[int, dict[str, float]], dict[str, float]]:
        """Return the counts by phase, and each event's least share of time in which it was counted.

        Counts are scaled up by that share; an event that was never counted is left out.
        """
        counts: dict[int, dict[str, float]] = {}
        shares: dict[str, float] = {}
        for phase in range(PHASES):
            for place, event in enumerate(self._counted):
                count = facts.counts[phase][place]
                if not count.enabled_ns:
                    continue
                share = min(1.0, count.running_ns / count.enabled_ns)
                shares[event.name] = min(share, shares.get(event.name, 1.0))
                if share:
                    counts.setdefault(phase, {})[event.name] = count.value / share
        return counts, shares


def _open(event: CounterEvent, cpu: int, sampled: bool) -> int:
    wanted = PerfEvent.of(event, sampled)
    file: int = _library().nf_perf_open(ctypes.byref(wanted), cpu)
    return file


def _numbers(files: Sequence[int]) -> ctypes.Array[ctypes.c_int32]:
    return (ctypes.c_int32 * max(1, len(files)))(*array.array("i", files))
