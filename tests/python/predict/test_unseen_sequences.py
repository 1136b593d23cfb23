"""Misses of unknown class may hide as many sequences again as were seen among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.estimate import Estimate
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Traffic
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.rows import demand_share, traffic_rows, unseen_sequences
from nearfar.predict.traffic import COLUMNS, INDEPENDENT, STREAM, Array, PhaseTraffic, misses

MISSES = 1e6


def counted(opaque: float, in_sequence: float, chase: float = 0.0) -> tuple[Array, Array | None]:
    """Return the lines of one object with these misses of loads, and their change."""
    workload = samples.workload()
    traffic = Traffic(
        read_misses=AccessClasses(opaque=opaque, chase=chase),
        read_sequential=AccessClasses(opaque=in_sequence, chase=chase / 2),
    )
    workload.objects[0].kind = "globals"
    phase = workload.phases[0]
    phase.objects = [ObjectTraffic(object=0, traffic=traffic)]
    lines = traffic_rows([traffic], np.array([demand_share(workload.objects[0])]))
    return lines[0], unseen_sequences(workload, phase, lines)


@given(st.floats(1.0, 1e9), st.floats(0.0, 1.0))
def test_no_more_lines_are_hidden_than_were_seen_or_are_left(opaque: float, share: float) -> None:
    lines, change = counted(opaque, share * opaque)
    if share == 0.0:
        assert change is None
        return
    assert change is not None
    hidden = min(share * opaque, (1.0 - share) * opaque)
    assert -change[INDEPENDENT] == pytest.approx(hidden, abs=1e-6 * opaque)
    assert float(misses(lines + change)) == pytest.approx(opaque)
    assert (lines + change).min() >= -1e-6 * opaque


def test_classes_that_are_known_hide_nothing() -> None:
    assert counted(0.0, 0.0, chase=MISSES)[1] is None


def test_the_interval_reaches_down_to_hidden_sequences() -> None:
    near = near_memory(samples.device("near", 100.0, 10.0))
    far = far_memory(samples.device("far", 300.0, 10.0), near)
    lines = np.zeros((1, COLUMNS))
    lines[0, INDEPENDENT], lines[0, STREAM] = 0.7 * MISSES, 0.3 * MISSES
    # Most of the time is not spent on memory: near time does not show how misses overlap.
    time = Estimate(10.0 * MISSES * 100.0, 10.0 * MISSES * 100.0, 10.0 * MISSES * 100.0)
    phase = PhaseTraffic("p", time, 1.0, None, lines, 0.0)
    change = np.zeros(COLUMNS)
    change[INDEPENDENT], change[STREAM] = -0.3 * MISSES, 0.3 * MISSES
    hides = replace(phase, unseen_sequences=change)
    plain, wide = (
        far_estimate(InversionModel, each, near, far, InversionModel(each, near, far)).slowdown
        for each in (phase, hides)
    )
    assert (wide.value, wide.high) == (plain.value, plain.high)
    sequences = replace(phase, objects=lines + change)
    fewest = InversionModel(sequences, near, far).times_ns(sequences.total) / time.value
    assert wide.low <= fewest < wide.value
    assert wide.low < plain.low
