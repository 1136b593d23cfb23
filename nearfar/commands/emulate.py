"""The verb `emulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._verb import verb
from nearfar.options.emulate import EmulateOptions
from nearfar.options.shared import DeliveryOptions

if TYPE_CHECKING:
    from nearfar.profile.session import ProfileRequest


@verb(EmulateOptions, DeliveryOptions)
def emulate(options: EmulateOptions, delivery: DeliveryOptions) -> int:
    """Run a program slowed down as if its memory were a far memory that this machine lacks.

    Mechanisms: another NUMA node where there is one; delays at the simulated misses of far objects,
    for a program built by `nearfar cc`, with the cost of tracing measured and subtracted; a
    contending core. Probes (a chase, chains, a stream) run the same way first and are compared with
    the far memory's profile: more than 10 % off is not faithful, and the exit code is 1. The
    program runs two or three times, where delays are long up to six times.
    """
    from rich.console import Console

    from nearfar.api._documents import loaded, origin
    from nearfar.commands._deliver import check_output, deliver_document, sayer
    from nearfar.devices.library import load_device
    from nearfar.documents import DeviceProfile, Plan, load
    from nearfar.emulate.api import emulate as run
    from nearfar.emulate.show import show
    from nearfar.options.emulate import MAX_SLOW_MOTION

    check_output(delivery.output)
    near = load(options.near, DeviceProfile)
    if near.measured is None:
        raise CommandError(
            f"{options.near} was not measured here: make one with `nearfar measure dram --quick`"
        )
    far = load_device(options.far)
    plan = None if options.plan is None else loaded(options.plan, Plan)
    emulation = run(
        _request(options, stdout_to_stderr=delivery.json),
        near,
        far,
        plan=plan,
        plan_path=origin(options.plan),
        way=options.by,
        max_slow_motion=options.slow_motion or MAX_SLOW_MOTION,
        say=sayer(Console(stderr=True, quiet=delivery.quiet)),
    )
    deliver_document(emulation, delivery, show)
    return int(ExitCode.DONE if emulation.faithful else ExitCode.FOUND)


def _request(options: EmulateOptions, *, stdout_to_stderr: bool) -> ProfileRequest:
    from nearfar.profile.options import make_request

    return make_request(
        command=list(options.command),
        repetitions=1,
        duration=options.duration,
        after=options.after,
        driver=options.driver,
        llc=options.llc,
        near=None if options.llc else options.near,
        ways=None,
        memory="64MiB",
        size=[],
        plain=options.plain,
        stdout_to_stderr=stdout_to_stderr,
    )
