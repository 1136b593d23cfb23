"""Tables of devices for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes, format_count
from nearfar.devices.closest import Likeness
from nearfar.devices.tables import half_load, short
from nearfar.documents.device import (
    BufferFigure,
    DeviceProfile,
    FaultFigure,
    Figure,
    InferredFigure,
    LoadedLatencyCurve,
    StallFigure,
)

MAX_FIGURES = 40
"""Rows of one kind of figure in a terminal."""

BASIS_MARKS = {"measured": "", "derived": "*", "assumed": "~"}
"""Marks of figures in a list, by `tables.basis`."""

FigureRow = tuple[str, str, Figure, str]
"""Title, value, figure and note."""


def print_list(devices: list[dict[str, Any]]) -> None:
    """Print the library."""
    paged = [row for row in devices if row["fault_ns"] is not None]
    table = _table("device", "technology", "idle ns", "read GB/s", "write GB/s", "source")
    # Users copy names, so names are never cut.
    table.columns[0].no_wrap = True
    table.columns[0].min_width = max(len(row["name"]) for row in devices)
    for row in devices:
        if row in paged:
            continue
        table.add_row(
            row["name"],
            row["technology"] + ("!" if row["unverified"] else ""),
            *(
                _number(row[key], BASIS_MARKS[how or "measured"])
                for key, how in row["basis"].items()
            ),
            escape(short(row["source"])),
        )
    console = Console()
    console.print(table)
    if paged:
        _print_paged(console, paged)
    console.print(
        "idle: dependent random read; bandwidths: best, 1 GB = 1e9 B; no mark: measured; * derived "
        "from measured; ~ assumed, or the most similar figure stands in; ! not verified: do not "
        "quote results",
        style="dim",
    )


def _print_paged(console: Console, devices: list[dict[str, Any]]) -> None:
    """Print memories whose pages come at a fault."""
    table = _table("device", "technology", "fault us", "source")
    table.columns[0].no_wrap = True
    for row in devices:
        mark = BASIS_MARKS[row["fault_basis"]]
        fault = _number(row["fault_ns"] / 1e3, mark)
        table.add_row(row["name"], row["technology"], fault, escape(short(row["source"])))
    console.print(table)


def print_device(device: DeviceProfile) -> None:
    """Print one device."""
    console = Console()
    console.print(f"[bold]{device.name}[/bold]  {escape(device.title)}")
    facts = [device.technology, f"granularity {device.granularity_bytes} B"]
    if device.capacity_bytes:
        facts.insert(1, format_bytes(device.capacity_bytes))
    facts.append(f"durable through {device.persists_through}" if device.durable else "not durable")
    console.print("; ".join(facts), highlight=False)
    if device.unverified:
        console.print(f"not verified: {escape(device.unverified)}", style="yellow")
    if device.host_dram is not None:
        console.print(
            f"measured on a machine whose local DRAM is {device.host_dram}: predictions for other "
            "machines add its latency beyond that DRAM",
            highlight=False,
        )
    table = _table("figure", "value", "how", "source", "note")
    for title, value, figure, note in (*_speeds(device), *_structures(device)):
        table.add_row(title, value, figure.how, figure.source, escape(note))
    console.print(table)
    for name, why in device.not_seen.items():
        console.print(escape(f"not seen: {name} ({why})"), highlight=False)
    for name, figures in (("bandwidths", device.bandwidth), ("curves", device.loaded_latency)):
        if len(figures) > MAX_FIGURES:
            more = len(figures) - MAX_FIGURES
            console.print(f"{more} more {name}: --toml or --json shows all", style="dim")
    for key, source in device.sources.items():
        where = f"; {source.where}" if source.where else ""
        licence = f" [{source.licence}]" if source.licence else ""
        console.print(escape(f"{key}: {source.citation}{where}{licence}"), highlight=False)


def _speeds(device: DeviceProfile) -> Iterator[FigureRow]:
    """Yield latencies, bandwidths, chains and loaded latencies."""
    for latency in device.latency[:MAX_FIGURES]:
        region = f", {format_bytes(latency.region_bytes)}" if latency.region_bytes else ""
        title = f"{latency.pattern} {latency.operation} latency ({latency.instruction}{region})"
        yield title, f"{latency.value_ns:g} ns", latency, latency.note
    for rate in device.bandwidth[:MAX_FIGURES]:
        details = [
            f"{rate.read_share:.0%} reads" if rate.read_share is not None else "",
            f"{rate.access_bytes} B" if rate.access_bytes else "",
            f"{rate.threads} threads" if rate.threads else "",
        ]
        shown = ", ".join(detail for detail in details if detail)
        title = f"{rate.pattern} {rate.operation} bandwidth" + (f" ({shown})" if shown else "")
        yield title, f"{rate.value_gb_per_s:g} GB/s", rate, rate.note
    for chain in device.chains:
        yield f"{chain.chains} chains", f"{chain.value_ns:g} ns", chain, chain.note
    for fault in device.faults:
        yield fault_title(fault), f"{fault.value_ns / 1e3:.3g} us a page", fault, fault.note
    for curve in device.loaded_latency[:MAX_FIGURES]:
        title = f"loaded latency, {traffic_title(curve)}, {len(curve.points)} points"
        point = half_load(curve)
        value = f"{point[1]:g} ns at {point[0]:.1f} GB/s" if point else "no point near half load"
        yield (
            title,
            value,
            curve,
            "; ".join([*([curve.note] if curve.note else []), *curve.oddities]),
        )


def fault_title(fault: FaultFigure) -> str:
    """Return what moves a page, in a few words."""
    share = fault.compressed_share
    parts = [
        f"{fault.pattern} {fault.operation} {fault.event}",
        "" if share is None else f"compressed to {share:.0%}",
        "" if fault.compression_work is None else f"{fault.compression_work:,.0f} places searched",
        f"{fault.threads} threads" if fault.threads > 1 else "",
        f"up to {fault.readahead_pages} pages" if fault.readahead_pages > 1 else "",
        "of huge pages" if fault.huge_pages else "",
        f"{fault.retouches:.1f} retouches" if fault.retouches else "",
    ]
    return ", ".join(part for part in parts if part)


def traffic_title(curve: LoadedLatencyCurve) -> str:
    """Return the traffic of a curve in a few words."""
    parts = [
        f"{curve.read_share:.0%} reads",
        "non-temporal stores" if curve.non_temporal and curve.read_share else "",
        curve.pattern if curve.pattern != "sequential" else "",
        format_count(curve.threads, "thread") if curve.threads else "",
    ]
    return ", ".join(part for part in parts if part)


def _structures(device: DeviceProfile) -> Iterator[FigureRow]:
    """Yield buffers, write queues, interleavings and stalls."""
    for buffer in device.buffers:
        size = size_between(
            buffer.capacity_bytes, buffer.capacity_low_bytes, buffer.capacity_high_bytes
        )
        yield buffer_title(buffer), size, buffer, _with_confidence(buffer)
    for queue in device.write_queues:
        drained = queue.drained_ns_per_line
        title = "write queue" + (f", then {drained:g} ns per line" if drained else "")
        size = size_between(
            queue.capacity_bytes, queue.capacity_low_bytes, queue.capacity_high_bytes
        )
        yield title, size, queue, _with_confidence(queue)
    for interleave in device.interleaves:
        title = f"interleaved over {interleave.devices} devices"
        size = format_bytes(interleave.granularity_bytes)
        yield title, size, interleave, _with_confidence(interleave)
    for stall in device.stalls:
        yield stall_title(stall), f"{stall.length_ns:g} ns", stall, _with_confidence(stall)


def buffer_title(buffer: BufferFigure) -> str:
    """Return a buffer in a few words."""
    details = [
        f"blocks of {buffer.block_bytes} B" if buffer.block_bytes else "",
        f"{buffer.ways} ways" if buffer.ways else "",
        f"{buffer.replacement} replacement" if buffer.replacement else "",
        f"{buffer.latency_ns:g} ns" if buffer.latency_ns else "",
    ]
    return ", ".join([buffer.name, *(detail for detail in details if detail)])


def size_between(size: int, low: int | None, high: int | None) -> str:
    """Return a size with its interval, if it has one."""
    if low is None or high is None or low == high == size:
        return format_bytes(size)
    return f"{format_bytes(size)} ({format_bytes(low)} to {format_bytes(high)})"


def _with_confidence(figure: InferredFigure) -> str:
    if figure.confidence is None:
        return figure.note
    confidence = f"confidence {figure.confidence:.0%}"
    return f"{confidence}; {figure.note}" if figure.note else confidence


def stall_title(stall: StallFigure) -> str:
    """Return a stall in a few words."""
    if stall.period_writes is not None:
        block = f"of {stall.granularity_bytes} B" if stall.granularity_bytes else ""
        return f"stall every {stall.period_writes} writes to a block {block}".rstrip()
    return f"stall every {stall.period_ns or 0:g} ns"


def print_comparison(
    first: DeviceProfile, others: list[DeviceProfile], quantities: list[dict[str, Any]]
) -> None:
    """Print devices side by side, each with its ratio to the first."""
    columns = ["quantity", first.name]
    for other in others:
        columns += [other.name, "ratio"]
    table = _table(*columns)
    for row in quantities:
        cells = [_number(row["values"][0], _mark(row["hows"][0]))]
        for value, how, ratio in zip(
            row["values"][1:], row["hows"][1:], row["ratios"], strict=True
        ):
            cells += [
                _number(value, _mark(how)),
                f"{ratio:.2f}x" if ratio is not None else "-",
            ]
        table.add_row(f"{row['quantity']}, {row['unit']}", *cells)
    console = Console()
    console.print(table)
    over = f"{others[0].name} over {first.name}" if len(others) == 1 else f"over {first.name}"
    console.print(f"ratio: {over}; ~ assumed, or the most similar figure stands in", style="dim")


def print_closest(likenesses: list[Likeness]) -> None:
    """Print the closest devices of the library, and why."""
    console = Console()
    for index, likeness in enumerate(likenesses):
        lead = "closest in the library" if index == 0 else "then"
        console.print(
            f"{lead}: [bold]{likeness.name}[/bold] ({escape(likeness.why())}; "
            f"distance {likeness.distance:.2f})",
            highlight=False,
        )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        if column == "source" and "device" in columns:
            # The only column that may be cut: it is long and last.
            table.add_column(column, no_wrap=True, overflow="ellipsis", min_width=8)
        elif column.split()[-1] in ("ns", "us", "GB/s") or column == "ratio":
            table.add_column(column, justify="right", no_wrap=True, min_width=len(column))
        elif column == "technology":
            table.add_column(column, no_wrap=True, min_width=11)
        else:
            table.add_column(column, overflow="fold")
    return table


def _number(value: float | None, mark: str) -> str:
    return "-" if value is None else f"{mark}{value:.4g}"


def _mark(how: str) -> str:
    return "~" if how == "assumed" else ""
