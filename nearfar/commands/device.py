"""List, show, compare, draw and import memories.

A device is one of the library, or the path of a .toml or .json device profile.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from nearfar.base.errors import CommandError
from nearfar.commands._options import JsonOption, QuietOption

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile

app = App(name="device", help=__doc__)

DeviceOutput = Annotated[Path | None, Parameter(name=["--output", "-o"])]
RequiredOutput = Annotated[Path, Parameter(name=["--output", "-o"])]


@app.command(name="list")
def list_(*, json_: JsonOption = False, quiet: QuietOption = False) -> None:
    """List the library: technology, idle latency, bandwidths, source.

    Parameters
    ----------
    json_
        Print JSON: latencies in ns, bandwidths in GB/s (1e9 B/s).
    quiet
        Print nothing but errors.
    """
    from nearfar.devices.library import device_names, load_device
    from nearfar.devices.tables import summary

    found = [summary(load_device(name)) for name in device_names()]
    if quiet:
        return
    if json_:
        _print_json(found)
        return
    from nearfar.devices.render import print_list

    print_list(found)


@app.command
def show(
    device: str, *, toml: bool = False, json_: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Show one device: its figures, where each comes from, what is odd.

    Parameters
    ----------
    device
        Name in the library, or path of a .toml or .json file.
    toml
        Print it as TOML, to be changed and used by its path.
    json_
        Print the whole device profile as JSON.
    quiet
        Only check that it can be read.
    """
    from nearfar.devices.library import load_device

    profile = load_device(device)
    if quiet:
        return
    if json_:
        from nearfar.documents.header import to_json

        sys.stdout.write(to_json(profile).decode())
        return
    if toml:
        from nearfar.devices.toml_write import to_toml

        sys.stdout.write(to_toml(profile, with_producer=profile.measured is not None))
        return
    from nearfar.devices.render import print_device

    print_device(profile)


@app.command
def compare(
    first: str, *others: str, json_: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Compare devices quantity by quantity; of one alone, find the closest in the library.

    Closeness is the root mean square of the logarithms of the ratios of the figures that both
    have: latencies weigh 1, bandwidths and granularity 0.5, the shape of the curve under load 1;
    what the other lacks counts as half as much again. 0.1 is about 10 % apart in everything.

    Parameters
    ----------
    first
        Name or path; the base of the ratios.
    others
        Names or paths. Without any: the three closest devices of the library are compared.
    json_
        Print JSON.
    quiet
        Print nothing but errors.
    """
    from nearfar.devices import tables
    from nearfar.devices.library import load_device

    one = load_device(first)
    likenesses = []
    if not others:
        from nearfar.devices.closest import closest

        likenesses = closest(one)
        if not likenesses:
            raise CommandError(
                f"device {one.name!r} has too few figures to find its like: name the devices to "
                "compare it with"
            )
        others = tuple(likeness.name for likeness in likenesses)
    rest = [load_device(name) for name in others]
    if quiet:
        return
    found = tables.compare_all(one, rest)
    if json_:
        _print_json(
            {
                "devices": [one.name, *(device.name for device in rest)],
                # Two keys of each row and of the whole are for two devices only.
                **({"first": one.name, "second": rest[0].name} if len(rest) == 1 else {}),
                "rows": found,
                "closest": [
                    {
                        "name": likeness.name,
                        "title": likeness.title,
                        "distance": likeness.distance,
                        "why": likeness.why(),
                        "shared": likeness.shared,
                        "lacking": likeness.missing,
                    }
                    for likeness in likenesses
                ],
            }
        )
        return
    from nearfar.devices.render import print_closest, print_comparison

    print_comparison(one, rest, found)
    print_closest(likenesses)


@app.command
def plot(
    *devices: str,
    output: RequiredOutput,
    read_share: float = 1.0,
    figures: str | None = None,
    machine: Path | None = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw one device whole, or latency under load of several in one picture.

    Of one device all is drawn that it has: latency by region with the buffers inferred, chains,
    bandwidth by threads, access size and share of reads, latency and percentiles under load; and
    of a measured one whose samples are beside it, tails and the evidence of each inference.

    Parameters
    ----------
    devices
        Names or paths.
    output
        Picture to write: .png, .svg or .pdf.
    read_share
        Of several devices: reads over all traffic, 0 to 1; of each the nearest curve is drawn.
    figures
        Of one device: only these, such as latency,loaded. Kinds: latency, chains, bandwidth,
        plane, loaded, tails, splits, evidence.
    machine
        Of one device: machine profile whose competing copies (`nearfar machine --measure`) are
        drawn too.
    json_
        Print the caption and the file's name as JSON.
    quiet
        Print nothing but errors.
    """
    from nearfar.base.files import check_writable

    if not devices:
        raise CommandError("name at least one device to draw; `nearfar device list` shows them")
    if not 0 <= read_share <= 1:
        raise CommandError(f"--read-share must be between 0 and 1, not {read_share:g}")
    check_writable(output)
    if len(devices) == 1:
        from nearfar.devices.plot import plot_one

        kinds = [kind.strip() for kind in figures.split(",")] if figures is not None else []
        caption = plot_one(devices[0], output, kinds, machine)
    else:
        from nearfar.devices.library import load_device
        from nearfar.devices.plot import plot_devices as draw

        if figures is not None or machine is not None:
            raise CommandError(
                "--figures and --machine are for a picture of one device; several are drawn as "
                "latency under load"
            )
        caption = draw([load_device(name) for name in devices], output, read_share)
    if json_:
        _print_json({"file": str(output), "caption": caption})
    elif not quiet:
        print(f"wrote {output}")


@app.command(name="import")
def import_(
    file: Path,
    *,
    output: DeviceOutput = None,
    name: str | None = None,
    title: str | None = None,
    source: str | None = None,
    technology: Literal[
        "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "other"
    ] = "other",
    host_dram: str | None = None,
    where: str = "",
    licence: str = "",
    how: Literal["measured", "published"] = "published",
    bandwidth_unit: str | None = None,
    latency_unit: str | None = None,
    read_share: float | None = None,
    shares: Annotated[str | None, Parameter(name="--shares")] = None,
    max_points: int = 30,
    format_: Annotated[str | None, Parameter(name="--format")] = None,
    nodes: str = "0:0",
    json_: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a device from what another tool printed, or from a bandwidth-latency curve in CSV.

    Formats, found out by themselves: mlc (Intel MLC's text, any tables), mess-1 (bwlat_*.txt of
    Mess 1.0 and PROFET, or a folder of them), mess-2 (memory_curves.csv), curves-json (Mess 2.0's
    and PROFET's), multichase (and multiload), likwid-bench, stream, perma (PerMA-Bench's JSON),
    csv.

    A CSV's header names a column bandwidth and a column latency with their units, such as
    bandwidth_gb_per_s and latency_ns, or "bandwidth [MB/s]"; and, for several curves, read_share
    (0..1) or read_pct (0..100). Lines that begin with # are comments. Rows stay in their order;
    dips and fold-backs are kept and flagged.

    Parameters
    ----------
    file
        The file; of mess-1 also a folder.
    output
        Device profile to write: .toml or .json. Default: the device's name with .toml in this
        folder, unless there is such a file.
    name
        Name of the device: lower-case letters, digits, dashes. Default: from the file's name.
    title
        What it is, in words. Default: its name.
    source
        Citation: where the curve comes from. Default: imported from that file.
    technology
        Kind of memory.
    host_dram
        Library device that is the local DRAM of the machine the curve was had on: predictions
        then add what this memory adds to it. Default: not known, latencies stay as published.
    where
        Table, figure or file in the source.
    licence
        Of the data, as its publisher states it.
    how
        Whether the curve was measured here or published.
    bandwidth_unit
        Unit of a bandwidth column that names none: GB/s, MB/s, KB/s, B/s, GiB/s, MiB/s.
    latency_unit
        Unit of a latency column that names none: ns, us, ps, or cycles@2.1GHz.
    read_share
        Reads over all traffic of every row, 0 to 1, for a file without such a column. Default: 1.
    shares
        Read shares to keep of a file with many, such as 1,0.75,0.5; the nearest are taken.
    max_points
        Points kept of each curve, at least 8.
    format_
        The file's format. Default: as it looks.
    nodes
        Of MLC's matrices, the CPU node and the memory node, such as 0:1.
    json_
        Print the device profile as JSON.
    quiet
        Print nothing but errors.
    """
    from nearfar.devices.import_curve import Units
    from nearfar.devices.import_device import DeviceDescription, import_with_notes, save_device
    from nearfar.devices.importers import ImportOptions

    named_output = output is not None
    units = Units(bandwidth_unit, latency_unit, read_share)
    device, form, notes = import_with_notes(
        file,
        ImportOptions(units, _shares(shares), max_points, how, _nodes(nodes)),
        DeviceDescription(
            name=name,
            title=title,
            technology=technology,
            citation=source,
            where=where,
            licence=licence,
            how=how,
            host_dram=host_dram,
        ),
        format_,
    )
    output = output or Path(f"{device.name}.toml")
    if not named_output and output.exists():
        raise CommandError(f"{output} is there already: to write over it, give it with -o")
    save_device(device, output)
    if json_:
        from nearfar.documents.header import to_json

        sys.stdout.write(to_json(device).decode())
    elif not quiet:
        print(f"wrote {output}: {_counted(device)}{'' if form == 'csv' else f', from {form}'}")
        for sentence in [
            *notes,
            *_taken_for_granted(device, given=(source, host_dram, technology)),
        ]:
            print(f"  {sentence}")
        for curve in device.loaded_latency:
            for oddity in curve.oddities:
                print(f"  odd at {curve.read_share:.0%} reads: {oddity}")


def _taken_for_granted(
    device: DeviceProfile, *, given: tuple[str | None, str | None, str]
) -> list[str]:
    """Return what the file and the options did not say, and what was taken instead."""
    source, host_dram, technology = given
    found = []
    if device.bandwidth and all(figure.operation == "read" for figure in device.bandwidth):
        found.append("no writes are in it: predictions take reads' bandwidth for them and say so")
    lacking = []
    if source is None:
        lacking.append("where it is from (--source)")
    if technology == "other":
        lacking.append("what kind of memory it is (--technology)")
    if host_dram is None and technology != "dram":
        lacking.append("its host's own DRAM (--host-dram)")
    if lacking:
        found.append(f"not stated: {', '.join(lacking)}")
    return found


def _counted(device: DeviceProfile) -> str:
    """Return how many curves a device has; without any, how many figures."""
    if device.loaded_latency or not (device.latency or device.bandwidth):
        return _plural(len(device.loaded_latency), "curve", "curves")
    return " and ".join(
        _plural(count, one, several)
        for count, one, several in (
            (len(device.latency), "latency", "latencies"),
            (len(device.bandwidth), "bandwidth", "bandwidths"),
        )
        if count
    )


def _plural(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _nodes(text: str) -> tuple[int, int]:
    cpu, _, memory = text.partition(":")
    if not (cpu.isdigit() and memory.isdigit()):
        raise CommandError(f"--nodes must be a CPU node and a memory node such as 0:1, not {text}")
    return int(cpu), int(memory)


def _shares(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = (-1.0,)
    if not all(0 <= share <= 1 for share in found):
        raise CommandError(f"--shares must be numbers from 0 to 1 such as 1,0.75,0.5, not {text!r}")
    return found


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1)
    print()
