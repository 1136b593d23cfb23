"""The verb `simulate`."""

from __future__ import annotations

import json as json_
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.commands._options import JsonOption, QuietOption


def simulate(
    *,
    device: str,
    pattern: Literal["chase", "random", "sequential", "strided"] = "chase",
    region: str = "64MiB",
    access: str = "64B",
    stride: str | None = None,
    write: Annotated[bool, Parameter(negative="")] = False,
    in_flight: float | None = None,
    memory_mode: str | None = None,
    isa: Literal["avx512", "avx2", "scalar"] | None = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate an access pattern on a memory: time, where accesses are served, amplification.

    The simulator is the one behind ``model:NAME``: buffers, write queue, interleaving and medium of
    the device, with the constants that its figures give.

    Parameters
    ----------
    device
        A library device (`nearfar device list`), a device file, or random:N.
    pattern
        chase: dependent loads in random order; random and sequential: accesses in that order,
        bandwidth beside; strided: every stride only, in random order.
    region
        Bytes visited: 64MiB, 1GiB.
    access
        Bytes of one access, its lines one after the other.
    stride
        From one access to its neighbour, of `strided`. Default: 4KiB.
    write
        Persisted non-temporal stores with a fence each, in place of loads.
    in_flight
        Also say what so many loads in flight at once, of all cores together, wait for and draw: the
        point where the memory's loaded latency and its bandwidth agree.
    memory_mode
        Put a direct-mapped DRAM cache of this size in front: Memory Mode. Not validated on
        hardware.
    isa
        Instruction set of the simulator; results are equal. Default: the best there is.
    """
    from nearfar.base.units import parse_size_bytes
    from nearfar.sim.simulate import SimulationRequest, simulate_pattern

    result = simulate_pattern(
        SimulationRequest(
            device=device,
            pattern=pattern,
            region_bytes=parse_size_bytes(region),
            access_bytes=parse_size_bytes(access),
            stride_bytes=None if stride is None else parse_size_bytes(stride),
            write=write,
            in_flight=in_flight,
            memory_mode_bytes=None if memory_mode is None else parse_size_bytes(memory_mode),
            isa=isa or "",
        )
    )
    if quiet:
        return
    if json:
        print(json_.dumps(result.as_json(), indent=1))
        return
    for line in result.lines():
        print(line)
