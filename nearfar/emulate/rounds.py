"""Rounds of probes, each between two plain runs: where those differ, near memory drifted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nearfar.emulate.way import Times

ROUNDS = 5
"""Rounds whose middle counts; some ten seconds each."""
MOST_ROUNDS = 7
"""Where near memory drifts: then the steadiest are taken."""
DRIFT = 0.05
"""How much near memory may change within a round. It runs plain, traced and with delays one after
the other, and takes the change for what tracing costs."""


@dataclass(frozen=True)
class Round:
    """Probes run in a way, once."""

    times: Times
    before: Mapping[str, float]
    """ns per line of each probe, plain."""
    after: Mapping[str, float]

    @property
    def drift(self) -> float:
        """The greatest change of a probe."""
        return max(abs(self.after[name] / ns - 1.0) for name, ns in self.before.items())


def steadiest(one_round: Callable[[float], Round], slow_motion: float) -> list[Round]:
    """Run `ROUNDS` rounds in which near memory hardly drifts, or the most and take the steadiest.

    Plain runs alone decide which, never how well a round came out. `one_round` is asked with the
    slow motion that the last one needed.
    """
    found: list[Round] = []
    while sum(one.drift <= DRIFT for one in found) < ROUNDS and len(found) < MOST_ROUNDS:
        found.append(one_round(found[-1].times.slow_motion if found else slow_motion))
    return sorted(found, key=lambda one: one.drift)[:ROUNDS]
