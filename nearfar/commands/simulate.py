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
    from nearfar.sim.simulate import simulate_pattern

    result = simulate_pattern(options)
    if delivery.quiet:
        return
    if delivery.json:
        print(json.dumps(result.as_json(), indent=1))
        return
    for line in result.lines():
        print(line)
