"""Adds counts up to intervals, and refuses what cannot be a count."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nearfar.base.errors import CommandError
from nearfar.counters.names import base
from nearfar.documents.counters import QUANTITIES, CounterInterval, CounterProfile
from nearfar.documents.header import producer

WRAPPED = float(1 << 47)
"""Counters have 48 bits at most; no interval comes near half of that (a day of cycles)."""
MUCH_SCALED = 0.25
"""Share of the time below which a scaled count is hardly an estimate."""

_HYBRID = re.compile(r"cpu_(core|atom)/")


@dataclass
class Gathering:
    """A file, as it is read."""

    path: Path
    format: Literal["perf", "pcm", "likwid", "csv"]
    names: dict[str, list[str]] = field(default_factory=dict)
    scaled: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    counts: dict[float, dict[str, float]] = field(default_factory=dict)
    """By the interval's end in s: what was counted."""
    lacking: set[tuple[float, str]] = field(default_factory=set)
    """Ends of intervals and quantities of which a part was not counted: the rest is no sum."""
    never_yet: list[tuple[float, str, str]] = field(default_factory=list)
    """Ends of intervals, quantities and events that were not on before anything else counted it."""
    unsupported: set[str] = field(default_factory=set)
    sources: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By quantity: the events that are added up, boxes of an uncore left aside."""
    twice: dict[str, list[str]] = field(default_factory=dict)
    """By quantity: events that count it once more, which are left out."""

    def takes(self, name: str, event: str) -> bool:
        """Return whether this event belongs to the sum, not to another count of the same.

        Boxes and kinds of cores are parts of one sum, and so are user and kernel; LLC-load-misses
        and mem_load_retired.l3_miss, or LIKWID's events and the metrics made of them, are not.
        """
        source = base(event)
        sources = self.sources.setdefault(name, {source})
        if source not in sources:
            parts = {(source[0], "u"), (source[0], "k")}
            if sources | {source} != parts:
                called = self.twice.setdefault(name, [])
                if event not in called:
                    called.append(event)
                return False
            sources.add(source)
        return True

    def add(self, end_s: float, name: str, event: str, count: float) -> None:
        """Add a count of the interval that ends then."""
        if not self.takes(name, event):
            return
        if not 0 <= count < float("inf"):
            raise CommandError(
                f"{self.path}: {event} counted {count:g} in the interval to {end_s:g} s: it "
                "wrapped or was reset; leave that counter out or count in shorter intervals"
            )
        if count >= WRAPPED and not name.endswith(("_bytes", "_ns")):
            raise CommandError(
                f"{self.path}: {event} counted {count:.3g} in the interval to {end_s:g} s, more "
                "than a counter can: it wrapped; count in shorter intervals"
            )
        called = self.names.setdefault(name, [])
        if event not in called:
            called.append(event)
        row = self.counts.setdefault(end_s, {})
        row[name] = row.get(name, 0.0) + count

    def lacks(self, end_s: float, name: str, event: str) -> None:
        """Note that a counter that should be there was not on in that interval."""
        self.counts.setdefault(end_s, {})
        if name not in self.sources:
            # Another event may have counted the same: it is not to lose against nothing.
            self.never_yet.append((end_s, name, event))
            return
        if not self.takes(name, event):
            return
        # Of a hybrid processor's kinds of cores a program may well use one.
        if not _HYBRID.match(event):
            self.lacking.add((end_s, name))
        called = self.names.setdefault(name, [])
        if event not in called:
            called.append(event)

    def took_turns(self, name: str, share: float) -> None:
        """Note that a count was scaled up from so much of its interval."""
        self.scaled[name] = min(share, self.scaled.get(name, 1.0))

    def finish(self, begin_s: float = 0.0) -> CounterProfile:
        """Return the document; the first interval begins at `begin_s`."""
        names = {name: events for name, events in self.names.items() if name in QUANTITIES}
        if not names or not any(self.counts.values()):
            raise CommandError(
                f"{self.path} has no counter that nearfar uses: instructions, cycles, last-level "
                "misses, bytes read or written, stalls"
            )
        for end_s, name, event in self.never_yet:
            if base(event) in self.sources.get(name, ()) and not _HYBRID.match(event):
                self.lacking.add((end_s, name))
        for end_s, name in self.lacking:
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
            warnings=[*self.warnings, *self._doubts()],
        )

    def _doubts(self) -> Iterable[str]:
        if self.unsupported:
            yield (
                f"not supported on the machine that counted: {', '.join(sorted(self.unsupported))}"
            )
        for name, events in self.twice.items():
            yield (
                f"{', '.join(events)} left out: {name} is already counted by "
                f"{', '.join(self.names[name])}"
            )
        for name, events in self.names.items():
            count = sum(name not in row for row in self.counts.values())
            if count:
                yield (
                    f"{', '.join(events)} was not counted in {count} of {len(self.counts)} "
                    f"intervals: {name} is not known there"
                )
        for name, share in self.scaled.items():
            much = " (too little to rely on)" if share < MUCH_SCALED else ""
            yield (
                f"{', '.join(self.names[name])} took turns with other counters and was on for as "
                f"little as {share:.0%} of an interval{much}: {name} is an estimate"
            )
