"""Machines and memories of published cases, and what the far run adds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar_studies.hardware.predictor import (
    CasePredictor,
    is_ambiguous,
    machine_of,
    stored_share,
)
from nearfar_studies.hardware.stand_ins import stand_ins
from nearfar_studies.studies.applications import measured_cases


@pytest.mark.long
def test_the_interval_spans_both_sets_of_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = CasePredictor(tmp_path)
    wanted = next(c for c in measured_cases() if c.id == "np-matsum-1000")
    both = predictor.predict(wanted)
    monkeypatch.setattr("nearfar_studies.hardware.predictor.is_ambiguous", lambda case: False)
    first = predictor.predict(wanted)
    assert both.slowdown == first.slowdown
    assert both.high is not None and first.high is not None
    assert both.high > first.high


@pytest.mark.long
def test_a_row_that_outgrows_the_private_cache_adds_near_time(tmp_path: Path) -> None:
    predictor = CasePredictor(tmp_path)
    wanted = next(c for c in measured_cases() if c.id == "polybench-jacobi-2d-64000-vs-smallest")
    longer = predictor.predict(wanted)
    shorter = predictor.predict(replace(wanted, input="N=16000, 3.9 GB, 8 iterations"))
    assert longer.slowdown is not None and shorter.slowdown is not None
    # Four rows of 512 KB are more than a second level of 1 MiB, four of 128 KB are not.
    assert longer.slowdown > 1.05 * shorter.slowdown
    assert not any(
        check.agrees is False for checks in predictor.checks.values() for check in checks
    )


def test_a_machine_that_its_source_does_not_describe_has_two_sets_of_memories() -> None:
    wanted = next(c for c in measured_cases() if c.id == "np-matsum-1000")
    assert is_ambiguous(wanted)
    names = [machine_of(wanted, use_other=other).far.name for other in (False, True)]
    assert names == ["optane-100-6dimm-perma", "optane-100-6dimm"]
    stated = next(c for c in measured_cases() if c.id == "pmemkv-overwrite-optane-1t")
    assert not is_ambiguous(stated)


def test_what_only_the_far_run_stores_is_added() -> None:
    program = next(p for p in stand_ins() if p.name == "numeric")
    wanted = next(c for c in measured_cases() if c.id == "np-matsum-7000")
    kind = program.input_of(f"{wanted.program}: {wanted.input}")
    assert kind is not None
    machine = machine_of(wanted)
    assert stored_share(wanted, program, kind, machine).value == 0.0
    persisted = replace(wanted, placement="inputs and result far")
    added = stored_share(persisted, program, kind, machine)
    # 392 MB, copied within DRAM and to Optane by one thread, take some tenths of a second.
    assert 0.1 < added.value * 0.0349 < 1.0 and added.low < added.value < added.high
