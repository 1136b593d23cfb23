"""List, show, compare, draw and import memories.

A device is one of the library, or the path of a .toml or .json device profile.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from nearfar.base.errors import CommandError
from nearfar.commands._verb import verb
from nearfar.options.device import (
    CompareDevicesOptions,
    ImportDeviceOptions,
    PlotDevicesOptions,
    ShowDeviceOptions,
)
from nearfar.options.shared import JsonOptions

if TYPE_CHECKING:
    from nearfar.devices.closest import Likeness
    from nearfar.documents import DeviceProfile

app = App(name="device", help=__doc__)


@app.command(name="list")
@verb(JsonOptions)
def list_(delivery: JsonOptions) -> None:
    """List the library: technology, idle latency, bandwidths, source; of paged memories the fault.

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

    Closeness is the root mean square of the logarithms of the ratios of the figures that both
    have: latencies weigh 1, bandwidths and granularity 0.5, the shape of the curve under load 1;
    what the other lacks counts as half as much again. 0.1 is about 10 % apart in everything.
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
                # Two keys of each row and of the whole are for two devices only.
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


@app.command(name="import")
@verb(ImportDeviceOptions, JsonOptions)
def import_(options: ImportDeviceOptions, delivery: JsonOptions) -> None:
    """Make a device from what another tool printed, or from a bandwidth-latency curve in CSV.

    Several files are runs on one memory, such as MLC's logs for each traffic (-W), order (-U) and
    number of cores: traffic and cores are read from the command line that MLC prints. Runs that
    measured a cache, that were cut short or that came over another path are left out and counted;
    runs of several machines are refused.

    Formats, recognised from the file: mlc (Intel MLC's text, any tables), load-table (CSV of such
    runs: inject_delay, latency_ns, gb_per_s, read_share, cores, random), mess-1 (bwlat_*.txt of
    Mess 1.0 and PROFET, or a folder of them), mess-2 (memory_curves.csv), curves-json (Mess 2.0's
    and PROFET's), multichase (and multiload), likwid-bench, stream, perma (PerMA-Bench's JSON),
    csv.

    A CSV's header names a column bandwidth and a column latency with their units, such as
    bandwidth_gb_per_s and latency_ns, or "bandwidth [MB/s]"; and, for several curves, read_share
    (0..1), read_pct or rd_percentage (0..100). Lines that begin with # are comments. Rows may be in
    any order: a column pause or delay tells the load, else bandwidth and latency do. Dips and
    fold-backs are kept and flagged; bad rows are left out and counted.
    """
    from nearfar.commands._deliver import print_json
    from nearfar.devices.curves import plain_curves
    from nearfar.devices.import_curve import Units
    from nearfar.devices.import_device import DeviceDescription, import_with_notes, save_device
    from nearfar.devices.importers import ImportOptions

    units = Units(options.bandwidth_unit, options.latency_unit, options.read_share)
    device, form, notes = import_with_notes(
        [options.file, *options.more],
        ImportOptions(
            units, options.read_shares(), options.max_points, options.how, options.node_pair()
        ),
        DeviceDescription(
            name=options.name,
            title=options.title,
            technology=options.technology,
            citation=options.source,
            where=options.where,
            licence=options.licence,
            how=options.how,
            host_dram=options.host_dram,
        ),
        options.format_,
    )
    output = options.output or Path(f"{device.name}.toml")
    if options.output is None and output.exists():
        raise CommandError(f"{output} exists already: to overwrite it, give it with -o")
    save_device(device, output)
    if delivery.json:
        print_json(device)
    elif not delivery.quiet:
        print(f"wrote {output}: {_counted(device)}{'' if form == 'csv' else f', from {form}'}")
        for sentence in [*notes, *_assumptions(device, options)]:
            print(f"  {sentence}")
        for curve in plain_curves(device.loaded_latency):
            for oddity in curve.oddities:
                print(f"  odd at {curve.read_share:.0%} reads: {oddity}")


def _assumptions(device: DeviceProfile, options: ImportDeviceOptions) -> list[str]:
    """Return what the file and the options did not state, and what is assumed instead."""
    sentences = []
    if device.bandwidth and all(figure.operation == "read" for figure in device.bandwidth):
        sentences.append("no writes are in it: predictions use reads' bandwidth and report that")
    missing = {
        "where it is from (--source)": options.source is None,
        "what kind of memory it is (--technology)": options.technology == "other",
        "its host's local DRAM (--host-dram)": (
            options.host_dram is None and options.technology != "dram"
        ),
    }
    if any(missing.values()):
        sentences.append(f"not stated: {', '.join(text for text, is_ in missing.items() if is_)}")
    return sentences


def _counted(device: DeviceProfile) -> str:
    """Return how many curves a device has; without any, how many figures."""
    if device.loaded_latency or not (device.latency or device.bandwidth):
        return _plural(len(device.loaded_latency), "curve", "curves")
    return " and ".join(
        _plural(count, singular, plural)
        for count, singular, plural in (
            (len(device.latency), "latency", "latencies"),
            (len(device.bandwidth), "bandwidth", "bandwidths"),
        )
        if count
    )


def _plural(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1)
    print()
