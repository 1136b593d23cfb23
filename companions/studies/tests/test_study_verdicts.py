"""Verdicts follow from the rows."""

from __future__ import annotations

import functools

import pytest

from nearfar_studies import in_situ
from nearfar_studies.compare import row, table
from nearfar_studies.studies import (
    intset_slowdowns,
    korean_guide,
    nvdimm_pipeline,
    nvdimm_stream,
    x_mem_curve,
)
from nearfar_studies.study import StudyInputs


def test_x_mem_curve_reports_the_side_of_the_published_range() -> None:
    def verdict(guided: float, blind: float) -> str:
        rows = {
            share: row(f"{share:.0%}", None, guided, rivals={"page-interleaved": blind})
            for share in x_mem_curve.SHARES
        }
        return "\n".join(x_mem_curve._verdict("program", rows))

    assert "below the published" in verdict(1.05, 1.3)
    assert "inside the published" in verdict(1.2, 1.3)
    assert "above the published" in verdict(1.9, 2.3)
    assert "0.40 more" in verdict(1.9, 2.3)
    assert "no slower" in verdict(1.9, 1.9)


def test_intset_reports_the_share_of_persisting() -> None:
    def verdict(ours: float, dram: float) -> str:
        rows = [
            row(name, 4.0, ours, interval=(ours, ours), rivals={"persisting in DRAM": dram})
            for name in ("list", "hash", "mean")
        ]
        made = table("slowdown", "figure 5", "slowdown", rows)
        return "\n".join(intset_slowdowns._verdict(made, [ours]))

    assert "most of the predicted slowdown" in verdict(4.0, 3.5)
    assert "less than half of the predicted slowdown" in verdict(4.0, 1.2)
    assert "above the published" in verdict(5.0, 2.0)
    assert "below the published" in verdict(3.0, 2.0)
    assert "0 of 3 published values" in verdict(3.0, 2.0)
    assert "3 of 3 published values" in verdict(4.0, 2.0)


def test_the_pipeline_reports_the_winner_and_where_the_other_model_is_closer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def verdict() -> str:
        return "\n".join(nvdimm_pipeline.NvdimmPipeline().run(StudyInputs()).verdict)

    # What is shown changes below, not what is predicted.
    monkeypatch.setattr(in_situ, "pipeline", functools.cache(in_situ.pipeline))
    printed = verdict()
    assert "in both the pipeline loses" in printed
    assert "closer than ours in: analysis, DRAM only" in printed
    monkeypatch.setattr(nvdimm_pipeline, "_dram_only_s", lambda: 1e6)
    assert "the prediction has the wrong winner" in verdict()


def test_stream_reports_falling_runs_only_where_some_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict() -> str:
        return "\n".join(nvdimm_stream.NvdimmStream().run(StudyInputs()).verdict)

    assert "table 5 drops with 7 and 15 threads" in verdict()
    assert "one thread on NVDIMM is limited by the code" in verdict()
    monkeypatch.setattr(nvdimm_stream, "BROKEN", 0.1)
    monkeypatch.setattr(nvdimm_stream, "ALIKE", 2.0)
    assert "no run of table 5 is slower" in verdict()
    assert "shows no limit" in verdict()


def test_the_guide_reports_whether_drift_was_detected() -> None:
    latencies = table("latency", "guide", "ns", [row("idle", 80.0, 90.0)])
    for report, expected in ((korean_guide.NO_DRIFT, "no drift"), ("changed", "drift, with")):
        assert any(expected in line for line in korean_guide._verdict(latencies, report))
