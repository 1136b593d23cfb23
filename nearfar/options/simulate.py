"""Options of `simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from nearfar.base.units import parse_size_bytes
from nearfar.options.option import Option, Options


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Options):
    """Options of `simulate`."""

    device: str
    """A library device (`nearfar device list`), a device file, or random:N."""
    pattern: Literal["chase", "random", "sequential", "strided"] = "chase"
    """chase: dependent loads in random order; random and sequential: accesses in that order, with
    bandwidth; strided: one access per stride, in random order."""
    region: str = "64MiB"
    """Bytes visited: 64MiB, 1GiB."""
    access: str = "64B"
    """Bytes of one access, its lines one after the other."""
    stride: str | None = None
    """Distance of neighbouring accesses of `strided`. Default: 4KiB."""
    write: bool = False
    """Persisted non-temporal stores with a fence each, in place of loads."""
    in_flight: float | None = None
    """Also print latency and bandwidth with this many loads in flight, of all cores together: the
    point of the loaded-latency curve where latency times bandwidth is that many lines."""
    memory_mode: str | None = None
    """Put a direct-mapped DRAM cache of this size in front: Memory Mode. Not validated on
    hardware."""
    isa: Literal["avx512", "avx2", "scalar"] | None = None
    """Instruction set of the simulator; results are equal. Default: the best that is available."""
    seed: Annotated[int, Option(position="none")] = 1
    """Seed of the order of random accesses and of random replacement."""
    lines: Annotated[int, Option(position="none")] = 400_000
    """Lines simulated after a warm-up: shares are known to 0.2 %."""

    @property
    def region_bytes(self) -> int:
        """Return --region in bytes."""
        return parse_size_bytes(self.region)

    @property
    def access_bytes(self) -> int:
        """Return --access in bytes."""
        return parse_size_bytes(self.access)
