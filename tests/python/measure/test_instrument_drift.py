"""Drift against an earlier run, among it the guide's 87.8 ns that became 185.7 until reboot."""

from __future__ import annotations

from pathlib import Path

import msgspec

from nearfar.documents import DeviceProfile, save
from nearfar.documents.device import BandwidthFigure, LatencyFigure, MeasuredContext, Source
from nearfar.documents.header import Producer
from nearfar.measure import drift


def run(latency_ns: float, half: float = 0.5, floor: float = 0.01, **changes: str) -> DeviceProfile:
    header = {"host": "lab", "cpu_model": "a processor", "memory_spec": "dram", **changes}
    return DeviceProfile(
        producer=Producer("0", "nearfar measure", header["host"], header["cpu_model"], "6", "2020"),
        name="x",
        title="x",
        technology="dram",
        sources={"here": Source(citation="here")},
        latency=[
            LatencyFigure(
                value_ns=latency_ns,
                low_ns=latency_ns - half,
                high_ns=latency_ns + half,
                how="measured",
                source="here",
            ),
            LatencyFigure(value_ns=1.0, how="measured", source="here", pattern="sequential"),
        ],
        bandwidth=[
            BandwidthFigure(
                threads=1,
                value_gb_per_s=20,
                low_gb_per_s=19,
                high_gb_per_s=21,
                how="measured",
                source="here",
            )
        ],
        measured=MeasuredContext(
            memory_spec=header["memory_spec"],
            repetitions=9,
            seconds=1,
            noise_floor=floor,
            timer_resolution_ns=1,
            cpus=[0],
            llc_bytes=1,
            environment={},
        ),
    )


def test_the_guides_case_is_reported_with_what_to_check() -> None:
    comparison = drift.compare(run(185.7), run(87.8))
    assert [each.beyond_noise for each in comparison] == [True, False]
    (text,) = drift.warnings(comparison)
    assert "87.8 ns then, 185.7 now" in text
    assert "until reboot" in text
    for cause in ("huge pages", "prefetchers", "another node", "clock", "Memory Mode"):
        assert cause in text
    assert "1 of 2 figures" in text


def test_its_end_is_reported_too() -> None:
    (text,) = drift.warnings(drift.compare(run(87.8), run(185.7)))
    assert "until reboot" in text


def test_overlapping_intervals_are_noise() -> None:
    assert drift.warnings(drift.compare(run(90.0, half=2), run(87.8, half=2))) == []


def test_the_drift_within_a_run_is_noise() -> None:
    apart = drift.compare(run(92.0, floor=0.06), run(87.8, floor=0.01))
    assert not apart[0].beyond_noise
    assert drift.compare(run(92.0), run(87.8))[0].beyond_noise


def test_a_small_drift_is_reported_without_alarm() -> None:
    (text,) = drift.warnings(drift.compare(run(95.0), run(87.8)))
    assert "until reboot" not in text


def test_other_memories_and_machines_are_not_compared() -> None:
    for changes in ({"host": "other"}, {"cpu_model": "other"}, {"memory_spec": "node:1"}):
        assert drift.compare(run(185.7), run(87.8, **changes)) == []


def test_an_earlier_run_is_found_only_where_it_exists(tmp_path: Path) -> None:
    path = tmp_path / "dram.json"
    assert drift.earlier_run(path) is None
    path.write_text("not a document")
    assert drift.earlier_run(path) is None
    save(run(87.8), path)
    before = drift.earlier_run(path)
    assert before is not None
    assert drift.warnings(drift.compare(run(185.7), before))
    save(msgspec.structs.replace(run(87.8), measured=None), path)
    assert drift.earlier_run(path) is None
