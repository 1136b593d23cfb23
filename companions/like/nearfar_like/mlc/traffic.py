"""MLC's traffic types, and the kernel that causes each.

MLC counts reads and writes at the memory controller: an ordinary store to a line is a read for
ownership and a write. So ``-W2`` (2 reads, 1 write) is one load and one store, and the printed
value is the payload times lines on the bus divided by lines touched. Like MLC, this assumes that a
line is read before it is stored; for processors that elide this read the value is too high.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base.errors import CommandError, nearest


@dataclass(frozen=True)
class MlcTraffic:
    """A traffic type of MLC."""

    name: str
    title: str
    """Title in MLC's tables."""
    kernel: str
    random_kernel: str
    read_share: float | None = None
    """Share of loads among the lines that the program touches."""
    bus_factor: float = 1.0
    """Lines at the memory controller per line that the program touches."""
    strided_kernel: str = ""
    non_temporal: bool = False
    two_streams: bool = False


def _stores(name: str, title: str, loads: int, factor: float) -> MlcTraffic:
    return MlcTraffic(name, title, "mixed", "mixed-random", loads / (loads + 1), factor)


def _nt_stores(name: str, title: str, loads: int) -> MlcTraffic:
    share = loads / (loads + 1)
    return MlcTraffic(name, title, "mixed-nt", "mixed-nt-random", share, non_temporal=True)


TYPES: dict[str, MlcTraffic] = {
    traffic_type.name: traffic_type
    for traffic_type in (
        MlcTraffic("R", "Read-only", "read", "read-random", strided_kernel="read-strided"),
        _stores("W2", "2:1 Reads-Writes", 1, 3 / 2),
        _stores("W3", "3:1 Reads-Writes", 2, 4 / 3),
        MlcTraffic(
            *("W5", "1:1 Reads-Writes", "write", "write-random"),
            bus_factor=2.0,
            strided_kernel="write-strided",
        ),
        MlcTraffic(
            *("W6", "0:1 Read-Non Temporal Write", "nt-store", "nt-store-random"),
            strided_kernel="nt-store-strided",
            non_temporal=True,
        ),
        _nt_stores("W7", "2:1 Read-Non Temporal Write", 2),
        _nt_stores("W8", "1:1 Read-Non Temporal Write", 1),
        _nt_stores("W9", "3:1 Read-Non Temporal Write", 3),
        # Two loads from two buffers and a store to a third: non-temporal (W10), ordinary (W11).
        MlcTraffic("W10", "2:1 Read-Non Temporal Write (stream triad)", "stream-triad-nt", "",
                non_temporal=True),
        MlcTraffic("W11", "3:1 Reads-Writes (stream triad)", "stream-triad", "", None, 4 / 3),
        _stores("W12", "4:1 Reads-Writes", 3, 5 / 4),
        _stores("W19", "9:1 Reads-Writes", 8, 10 / 9),
        MlcTraffic("W21", "Read-only, two streams", "read", "", two_streams=True),
        MlcTraffic("W23", "3:1 Reads-Writes, two streams", "mixed", "", 2 / 3, 4 / 3,
                two_streams=True),
        MlcTraffic("W27", "2:1 Read-Non Temporal Write, two streams", "mixed-nt", "", 2 / 3,
                non_temporal=True, two_streams=True),
    )
}  # fmt: skip

STREAM_TRIAD_LIKE = "W10"
"""Traffic type of the last row of the peak tables."""


def traffic(text: str, where: str) -> MlcTraffic:
    """Return the type called `text`, such as ``R`` or ``W3``."""
    name = text.upper()
    if name not in TYPES:
        known = ", ".join(TYPES)
        raise CommandError(
            f"{where}: {text!r} is no traffic type{nearest(name, list(TYPES))}; there are {known}"
        )
    return TYPES[name]


def kernel_of(kind: MlcTraffic, *, random: bool, stride_bytes: int, where: str) -> str:
    """Return the kernel of this traffic in this order; refuse if none exists."""
    if stride_bytes > 64:
        if random:
            raise CommandError(f"{where}: a stride and random order exclude each other")
        if not kind.strided_kernel:
            strided = ", ".join(
                traffic_type.name for traffic_type in TYPES.values() if traffic_type.strided_kernel
            )
            raise CommandError(
                f"{where}: a stride of more than 64 bytes is for the traffic types {strided}, not "
                f"{kind.name}"
            )
        return kind.strided_kernel
    if random:
        if not kind.random_kernel:
            raise CommandError(
                f"{where}: traffic {kind.name} is sequential only; random order is for "
                + ", ".join(
                    traffic_type.name
                    for traffic_type in TYPES.values()
                    if traffic_type.random_kernel
                )
            )
        return kind.random_kernel
    return kind.kernel
