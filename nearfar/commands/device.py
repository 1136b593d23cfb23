"""List, show, compare, draw and import memories.

A device is one of the library, or the path of a .toml or .json device profile.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from cyclopts import App

from nearfar.base.errors import CommandError
from nearfar.commands._companion_verbs import load_verb
from nearfar.commands._verb import verb
from nearfar.options.device import (
    CompareDevicesOptions,
    PlotDevicesOptions,
    ShowDeviceOptions,
)
from nearfar.options.shared import JsonOptions

if TYPE_CHECKING:
    from nearfar.devices.closest import Likeness
    from nearfar.documents import DeviceProfile

app = App(name="device", help=__doc__)
app.command(load_verb("device import"), name="import")


@app.command(name="list")
@verb(JsonOptions)
def list_(delivery: JsonOptions) -> None:
    """List the library: technology, idle latency, bandwidths (paged: cost of a fault), source.

    In JSON, times are in ns and bandwidths in GB/s (1e9 B/s).
    """
    from nearfar.devices.library import device_names, load_device, paged_names
    from nearfar.devices.render import print_list
    from nearfar.devices.tables import summary

    summaries = [summary(load_device(name)) for name in [*device_names(), *paged_names()]]
    if delivery.quiet:
        return
    if delivery.json:
        _print_json(summaries)
    else:
        print_list(summaries)


@app.command
@verb(ShowDeviceOptions, JsonOptions)
def show(options: ShowDeviceOptions, delivery: JsonOptions) -> None:
    """Show one device: its figures, where each comes from, what is odd."""
    from nearfar.commands._deliver import print_json
    from nearfar.devices.library import load_device
    from nearfar.devices.render import print_device
    from nearfar.devices.toml_write import to_toml

    profile = load_device(options.device)
    if delivery.quiet:
        return
    if delivery.json:
        print_json(profile)
    elif options.toml:
        sys.stdout.write(to_toml(profile, with_producer=profile.measured is not None))
    else:
        print_device(profile)


@app.command
@verb(CompareDevicesOptions, JsonOptions)
def compare(options: CompareDevicesOptions, delivery: JsonOptions) -> None:
    """Compare devices quantity by quantity; of one alone, find the closest in the library.

    Closeness is the root mean square of the logarithms of the ratios of the figures that both have:
    latencies weigh 1, bandwidths and granularity 0.5, the shape of the curve under load 1. A figure
    that the other lacks counts as a ratio of 1.5. A closeness of 0.1 is about 10 % in everything.
    """
    from nearfar.devices import tables
    from nearfar.devices.library import load_device
    from nearfar.devices.render import print_closest, print_comparison

    first = load_device(options.first)
    likenesses = [] if options.others else _closest(first)
    names = options.others or [likeness.name for likeness in likenesses]
    others = [load_device(name) for name in names]
    if delivery.quiet:
        return
    rows = tables.compare_all(first, others)
    if delivery.json:
        _print_json(
            {
                "devices": [first.name, *(device.name for device in others)],
                # These two keys exist only in comparisons of exactly two devices.
                **({"first": first.name, "second": others[0].name} if len(others) == 1 else {}),
                "rows": rows,
                "closest": [_likeness_row(likeness) for likeness in likenesses],
            }
        )
        return
    print_comparison(first, others, rows)
    print_closest(likenesses)


def _closest(device: DeviceProfile) -> list[Likeness]:
    from nearfar.devices.closest import closest

    likenesses = closest(device)
    if not likenesses:
        raise CommandError(
            f"device {device.name!r} has too few figures to find its like: name the devices to "
            "compare it with"
        )
    return likenesses


def _likeness_row(likeness: Likeness) -> dict[str, Any]:
    return {
        "name": likeness.name,
        "title": likeness.title,
        "distance": likeness.distance,
        "why": likeness.why(),
        "shared": likeness.shared,
        "lacking": likeness.missing,
    }


@app.command
@verb(PlotDevicesOptions, JsonOptions)
def plot(options: PlotDevicesOptions, delivery: JsonOptions) -> None:
    """Draw one device whole, or latency under load of several in one picture.

    Of one device all is drawn that it has: latency by region with the buffers inferred, chains,
    bandwidth by threads, access size and share of reads, latency and percentiles under load; and
    of a measured one whose samples are next to it, tails and the evidence of each inference.
    """
    from nearfar.commands._deliver import check_output

    check_output(options.output)
    if len(options.devices) == 1:
        from nearfar.devices.plot import plot_one

        caption = plot_one(options.devices[0], options.output, options.kinds(), options.machine)
    else:
        from nearfar.devices.library import load_device
        from nearfar.devices.plot import plot_devices as draw

        devices = [load_device(name) for name in options.devices]
        caption = draw(devices, options.output, options.read_share)
    if delivery.json:
        _print_json({"file": str(options.output), "caption": caption})
    elif not delivery.quiet:
        print(f"wrote {options.output}")


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1)
    print()
