"""The verb `simulate`."""

from __future__ import annotations

import json

from nearfar.commands._verb import verb
from nearfar.options.shared import JsonOptions
from nearfar.options.simulate import SimulateOptions


@verb(SimulateOptions, JsonOptions)
def simulate(options: SimulateOptions, delivery: JsonOptions) -> None:
    """Simulate an access pattern on a memory: time, where accesses are served, amplification.

    The simulator is the one behind ``model:NAME``: buffers, write queue, interleaving and medium of
    the device, with the constants that its figures give.
    """
    from nearfar.base.units import parse_size_bytes
    from nearfar.sim.simulate import SimulationRequest, simulate_pattern

    stride, memory_mode = options.stride, options.memory_mode
    result = simulate_pattern(
        SimulationRequest(
            device=options.device,
            pattern=options.pattern,
            region_bytes=parse_size_bytes(options.region),
            access_bytes=parse_size_bytes(options.access),
            stride_bytes=None if stride is None else parse_size_bytes(stride),
            write=options.write,
            in_flight=options.in_flight,
            memory_mode_bytes=None if memory_mode is None else parse_size_bytes(memory_mode),
            isa=options.isa or "",
        )
    )
    if delivery.quiet:
        return
    if delivery.json:
        print(json.dumps(result.as_json(), indent=1))
        return
    for line in result.lines():
        print(line)
