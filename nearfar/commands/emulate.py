"""The verb `emulate`."""

from __future__ import annotations

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar.options.emulate import EmulateOptions
from nearfar.options.shared import DeliveryOptions


@verb(EmulateOptions, DeliveryOptions)
def emulate(options: EmulateOptions, delivery: DeliveryOptions) -> int:
    """Run a program slowed down as if its memory were a far memory that this machine lacks.

    Mechanisms: another NUMA node where there is one; delays at the simulated misses of far objects,
    for a program built by `nearfar cc`, with the cost of tracing measured and subtracted; a
    contending core. Probes (a chase, chains, a stream) run the same way first and are compared with
    the far memory's profile: if one is more than 10 % off, the emulation is not faithful and the
    exit code is 1. The program runs two or three times, or up to six times if delays are long.
    """
    from rich.console import Console

    from nearfar.commands._deliver import check_output, deliver_document, sayer
    from nearfar.emulate.api import emulate as run
    from nearfar.emulate.show import show

    check_output(delivery.output)
    say = sayer(Console(stderr=True, quiet=delivery.quiet))
    emulation = run(options, say, stdout_to_stderr=delivery.json)
    deliver_document(emulation, delivery, show)
    return int(ExitCode.DONE if emulation.faithful else ExitCode.FOUND)
