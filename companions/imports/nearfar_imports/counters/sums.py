"""Sums of counts by interval, with checks of each count."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nearfar.base.errors import CommandError
from nearfar.documents.counters import QUANTITIES, CounterInterval, CounterProfile
from nearfar.documents.header import producer
from nearfar_imports.counters.names import base

MAX_COUNT = float(1 << 47)
"""Half the range of a 48-bit counter, a day of cycles: a larger count has wrapped."""
MIN_RELIABLE_SHARE = 0.25
"""Share of an interval below which a scaled count is hardly an estimate."""

_HYBRID = re.compile(r"cpu_(core|atom)/")


@dataclass
class CounterSums:
    """Counts of one file, summed while it is read."""

    path: Path
    format: Literal["perf", "pcm", "likwid", "csv"]
    names: dict[str, list[str]] = field(default_factory=dict)
    scaled: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    counts: dict[float, dict[str, float]] = field(default_factory=dict)
    """Counts by quantity, by the interval's end in s."""
    incomplete: set[tuple[float, str]] = field(default_factory=set)
    """Ends of intervals, and quantities whose sum is unknown, as a part was not counted."""
    uncounted: list[tuple[float, str, str]] = field(default_factory=list)
    """Ends of intervals, quantities and events that were off before the quantity's first count."""
    unsupported: set[str] = field(default_factory=set)
    sources: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """Events that are summed, by quantity, without the boxes of an uncore."""
    duplicates: dict[str, list[str]] = field(default_factory=dict)
    """Events that count a quantity again and are left out, by quantity."""

    def belongs(self, name: str, event: str) -> bool:
        """Return whether an event is part of the sum of quantity `name`.

        Parts are the first event of a quantity, the same event of other boxes or kinds of cores,
        and its user and kernel counts. Any other event is a second count of the quantity, such as
        mem_load_retired.l3_miss after LLC-load-misses, or a metric that LIKWID derives from the
        event; it is noted in `duplicates`.
        """
        source = base(event)
        sources = self.sources.setdefault(name, {source})
        if source not in sources:
            parts = {(source[0], "u"), (source[0], "k")}
            if sources | {source} != parts:
                events = self.duplicates.setdefault(name, [])
                if event not in events:
                    events.append(event)
                return False
            sources.add(source)
        return True

    def add(self, end_s: float, name: str, event: str, count: float) -> None:
        """Add a count of the interval that ends at `end_s`."""
        if not self.belongs(name, event):
            return
        if not 0 <= count < float("inf"):
            raise CommandError(
                f"{self.path}: {event} counted {count:g} in the interval to {end_s:g} s: it "
                "wrapped or was reset; leave that counter out or count in shorter intervals"
            )
        if count >= MAX_COUNT and not name.endswith(("_bytes", "_ns")):
            raise CommandError(
                f"{self.path}: {event} counted {count:.3g} in the interval to {end_s:g} s, more "
                "than a counter can: it wrapped; count in shorter intervals"
            )
        self._note_event(name, event)
        row = self.counts.setdefault(end_s, {})
        row[name] = row.get(name, 0.0) + count

    def _note_event(self, name: str, event: str) -> None:
        events = self.names.setdefault(name, [])
        if event not in events:
            events.append(event)

    def add_missing(self, end_s: float, name: str, event: str) -> None:
        """Note that a counter was off in an interval."""
        self.counts.setdefault(end_s, {})
        if name not in self.sources:
            # Another event may count the quantity: the missing event must not exclude that one.
            self.uncounted.append((end_s, name, event))
            return
        if not self.belongs(name, event):
            return
        # A program may use only one kind of a hybrid processor's cores.
        if not _HYBRID.match(event):
            self.incomplete.add((end_s, name))
        self._note_event(name, event)

    def add_scaled(self, name: str, share: float) -> None:
        """Note that a count was scaled up from a share of its interval."""
        self.scaled[name] = min(share, self.scaled.get(name, 1.0))

    def finish(self, begin_s: float = 0.0) -> CounterProfile:
        """Return the document; the first interval begins at `begin_s`."""
        names = {name: events for name, events in self.names.items() if name in QUANTITIES}
        if not names or not any(self.counts.values()):
            raise CommandError(
                f"{self.path} has no counter that nearfar uses (instructions, cycles, last-level "
                "misses, bytes read or written, stalls)"
            )
        for end_s, name, event in self.uncounted:
            if base(event) in self.sources.get(name, ()) and not _HYBRID.match(event):
                self.incomplete.add((end_s, name))
        for end_s, name in self.incomplete:
            self.counts[end_s].pop(name, None)
        intervals: list[CounterInterval] = []
        for end_s in sorted(self.counts):
            intervals.append(CounterInterval(begin_s=begin_s, end_s=end_s, **self.counts[end_s]))
            begin_s = end_s
        return CounterProfile(
            producer=producer(),
            file=self.path.name,
            format=self.format,
            names=names,
            scaled=self.scaled,
            intervals=intervals,
            warnings=[*self.warnings, *self._summary_warnings()],
        )

    def _summary_warnings(self) -> Iterable[str]:
        if self.unsupported:
            yield (
                f"not supported on the machine that counted: {', '.join(sorted(self.unsupported))}"
            )
        for name, events in self.duplicates.items():
            yield (
                f"{', '.join(events)} left out: {name} is already counted by "
                f"{', '.join(self.names[name])}"
            )
        for name, events in self.names.items():
            count = sum(name not in row for row in self.counts.values())
            if count:
                yield (
                    f"{', '.join(events)} was not counted in {count} of {len(self.counts)} "
                    f"intervals: {name} is unknown there"
                )
        for name, share in self.scaled.items():
            caveat = " (too little to rely on)" if share < MIN_RELIABLE_SHARE else ""
            yield (
                f"{', '.join(self.names[name])} took turns with other counters and was on for as "
                f"little as {share:.0%} of an interval{caveat}: {name} is an estimate"
            )
