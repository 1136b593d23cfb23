"""``[[measure]]``: a program run here, timed, alone on its machine."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import median_estimate
from nearfar.points.commanded import CommandedPoint, run_once
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS
from nearfar.points.row import PointValues


@POINT_KINDS.register("measure")
class MeasurePoint(CommandedPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One command. Any program: also `nearfar run`, `emulate`, `bench` with --json."""

    NAME: ClassVar[str] = "measure"
    CODE: ClassVar[tuple[str, ...]] = ("points/kinds",)

    repetitions: int = 5
    """Timed runs; the median counts, its interval is 95 %, by bootstrap."""
    warm_up: int = 1
    """Runs before, that fill the page cache and are not timed."""
    timeout_s: float | None = None
    """A run that takes longer is an error."""
    numbers: bool = False
    """Whether it prints JSON, whose numbers are kept: medians over the repetitions."""

    def check(self, inputs: PointInputs) -> None:
        """Refuse invalid counts."""
        super().check(inputs)
        if self.repetitions < 1 or self.warm_up < 0:
            raise NearfarError("repetitions must be 1 or more, warm_up 0 or more")
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise NearfarError(f"timeout_s must be above 0, not {self.timeout_s:g}")

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Run the command."""
        runs = [
            run_once(
                self.command,
                self.folder,
                self.environment,
                cpus=self.cpus,
                timeout_s=self.timeout_s,
            )
            for _ in range(self.warm_up + self.repetitions)
        ][self.warm_up :]
        wall = median_estimate([timed.wall_ns for timed in runs])
        threads = max(timed.threads for timed in runs)
        more: dict[str, Any] = {
            "wall_times_ns": [timed.wall_ns for timed in runs],
            "cpu_times_ns": [timed.cpu_ns for timed in runs],
            "peak_bytes": max(timed.peak_bytes for timed in runs),
            "threads_seen": threads,
        }
        if threads > self.cpus:
            more["warning"] = f"{threads} threads shared {self.cpus} processors: raise cpus"
        if self.numbers:
            more["numbers"] = _medians([_numbers(timed.output) for timed in runs])
        return PointValues(
            time_ns=wall.value,
            time_low_ns=wall.low,
            time_high_ns=wall.high,
            cpu_time_ns=median_estimate([timed.cpu_ns for timed in runs]).value,
            more=json.dumps(more),
        ), None


def _numbers(output: bytes) -> dict[str, float]:
    """Return all numbers of the JSON output by path; JSON is the whole output or its last line."""
    for text in (output, output.strip().rpartition(b"\n")[2]):
        try:
            printed = json.loads(text)
        except ValueError:
            continue
        return dict(_leaves(printed, ""))
    raise NearfarError("neither its output nor the last line of it is JSON: leave out numbers")


def _leaves(value: Any, path: str) -> list[tuple[str, float]]:
    """Return the numbers in a JSON value by path (``a.b[0]``), below the value's own `path`."""
    if isinstance(value, dict):
        parts = [(f"{path}.{key}" if path else str(key), part) for key, part in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{i}]", part) for i, part in enumerate(value)]
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return []
    else:
        return [(path, float(value))]
    return [leaf for name, part in parts for leaf in _leaves(part, name)]


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    common = [name for name in runs[0] if all(name in numbers for numbers in runs)]
    return {name: median_estimate([numbers[name] for numbers in runs]).value for name in common}
