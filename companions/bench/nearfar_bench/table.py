"""A BenchResult in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.estimate import Estimate
from nearfar.base.tables import add_row, say, table
from nearfar.base.units import format_count, format_ns
from nearfar.documents.bench import BenchCell, BenchResult
from nearfar_bench.kind import kind_of

COUNTED = {
    "transactions": "tx",
    "publications": "publ.",
    "snapshots": "snap.",
    "flush_calls": "flushes",
    "fences": "fences",
    "msyncs": "msyncs",
}
"""Titles of the counts in the table; the document has all counts."""


def print_result(result: BenchResult, console: Console) -> None:
    """Print the tables, how content became durable, the kind's sentences, and what was left out."""
    console.print(_times(result))
    counted = [
        name for name in COUNTED if any(cell.counts.get(name, 0) > 0 for cell in result.cells)
    ]
    if counted or any(cell.latency_ns for cell in result.cells):
        console.print(_details(result, counted))
    say(console, *_durable(result), *result.summary)
    say(console, *(f"left out: {sentence}" for sentence in result.left_out))


def _times(result: BenchResult) -> Table:
    extra = [
        name
        for name in kind_of(result.workload).columns()
        if any(name in cell.figures for cell in result.cells)
    ]
    compared = any(cell.slowdown is not None for cell in result.cells)
    shares = any("kernel_share" in cell.figures for cell in result.cells)
    keys = _varied(result)
    columns = [*keys, "per operation", *(["slowdown"] if compared else []), "CPU"]
    columns += [*(["kernel"] if shares else []), *extra]
    times = table(columns, title=_title(result), caption=_caption(result))
    for cell in result.cells:
        row = [cell.arguments.get(key, "") for key in keys]
        row.append(_time(cell.figures["ns_per_operation"]))
        if compared:
            row.append("" if cell.slowdown is None else _plain(cell.slowdown))
        row.append(format_ns(cell.figures["cpu_ns_per_operation"].value))
        if shares:
            share = cell.figures.get("kernel_share")
            row.append("" if share is None else f"{share.value * 100:.0f} %")
        row += [_plain(cell.figures[name]) if name in cell.figures else "" for name in extra]
        add_row(times, row)
    return times


def _details(result: BenchResult, counted: list[str]) -> Table:
    timed = any(cell.latency_ns for cell in result.cells)
    keys = _varied(result)
    percentiles = {"p50": "p50", "p99": "p99", "p99_9": "p99.9"} if timed else {}
    details = table(
        [*keys, *percentiles.values(), *(COUNTED[name] for name in counted)],
        caption="percentiles of single operations and counts per operation, from separate runs",
    )
    for cell in result.cells:
        row = [cell.arguments.get(key, "") for key in keys]
        row += [
            format_ns(cell.latency_ns[name]) if name in cell.latency_ns else ""
            for name in percentiles
        ]
        row += [f"{cell.counts[name]:.3g}" if name in cell.counts else "" for name in counted]
        add_row(details, row)
    return details


def durable_words(cell: BenchCell) -> str:
    """Return in words how a cell was made durable."""
    by, survives = cell.durability.instructions, cell.durability.survives
    if by == "none":
        return f"survives {survives}"
    return f"made durable by {by}; it survives {survives}"


def _varied(result: BenchResult) -> list[str]:
    """Return the arguments that differ between cells; the title has the others."""
    varied = [key for key, values in result.matrix.items() if len(values) > 1]
    return varied or list(result.matrix)[:1]


def _title(result: BenchResult) -> str:
    fixed = [
        f"{key} {values[0]}"
        for key, values in result.matrix.items()
        if len(values) == 1 and key not in _varied(result)
    ]
    return f"{result.title} ({', '.join(fixed)})" if fixed else result.title


def _caption(result: BenchResult) -> str:
    if result.repeats < 3:
        return f"{format_count(result.repeats, 'run')}, least and greatest"
    return f"median of {result.repeats} runs with a 95 % interval (10,000 resamples)"


def _time(estimate: Estimate) -> str:
    """Return a time and its interval, in the unit that fits the time."""
    number, unit = format_ns(estimate.value).split(" ")
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return f"{number} {unit} [{estimate.low / scale:.3g}, {estimate.high / scale:.3g}]"


def _plain(estimate: Estimate) -> str:
    return f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"


def _durable(result: BenchResult) -> list[str]:
    """Return each sentence on durability with the memories for which it holds."""
    by_sentence: dict[str, list[str]] = {}
    for cell in result.cells:
        memory = cell.arguments.get("memory", result.arguments.get("memory", "volatile"))
        names = by_sentence.setdefault(durable_words(cell), [])
        if memory not in names:
            names.append(memory)
    return [f"{', '.join(names)}: {words}" for words, names in by_sentence.items()]
