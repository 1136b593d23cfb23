"""The verb `device import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.base.errors import CommandError
from nearfar.base.units import format_count
from nearfar.commands._verb import verb
from nearfar.options.shared import JsonOptions
from nearfar_imports.options import ImportDeviceOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile


@verb(ImportDeviceOptions, JsonOptions)
def import_device(options: ImportDeviceOptions, delivery: JsonOptions) -> None:
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
    from nearfar_imports.import_curve import Units
    from nearfar_imports.import_device import DeviceDescription, import_with_notes, save_device
    from nearfar_imports.importers import ImportOptions

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
        return format_count(len(device.loaded_latency), "curve")
    figures = []
    if device.latency:
        figures.append(format_count(len(device.latency), "latency", "latencies"))
    if device.bandwidth:
        figures.append(format_count(len(device.bandwidth), "bandwidth"))
    return " and ".join(figures)
