"""LENS' probers on a subject of known values."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from like_subject import FAR_NS, NEAR_NS, STALL_EVERY, KnownSubject

from nearfar.base.errors import NearfarError
from nearfar.documents.device import BufferFigure
from nearfar.measure.infer.findings import Findings
from nearfar_like.lens import PROBERS, parse, probe
from nearfar_like.lens.probe import size_name


def lens(words: list[str], subject: KnownSubject | None = None) -> tuple[list[str], dict[str, Any]]:
    printed: list[str] = []
    chosen = parse(["model:known", "--no-infer", "--writes", "20000", *words])
    return printed, probe(subject or KnownSubject(), chosen, printed.append)


def test_command_lines() -> None:
    assert parse([])["memory"] == "dram"
    assert parse([])["probers"] == list(PROBERS)
    chosen = parse(["node:1", "policy", "--largest", "64MiB", "--rounds", "5"])
    assert (chosen["memory"], chosen["probers"]) == ("node:1", ["policy"])
    assert (chosen["largest"], chosen["rounds"]) == (64 << 20, 5)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--larges", "1MiB"], "did you mean '--largest'"),
        (["--largest"], "--largest needs a value"),
        (["--largest", "64"], "cannot read the size"),
        (["--rounds", "0"], "at least 1"),
        (["dram", "node:1"], "one memory at a time"),
    ],
)
def test_refused(words: list[str], says: str) -> None:
    with pytest.raises(NearfarError, match=says):
        parse(words)


def test_the_buffer_shows_in_the_rows_and_the_block_in_the_columns() -> None:
    printed, result = lens(["buffer"])
    read = {
        (row["region_bytes"], row["block_bytes"]): row["value_ns"]
        for row in result["results"]["buffer"]["read"]
    }
    assert read[16 << 20, 64] == NEAR_NS
    assert read[256 << 20, 64] == pytest.approx(NEAR_NS + (FAR_NS - NEAR_NS) * 15 / 16)
    assert read[256 << 20, 256] == read[256 << 20, 4096]
    ratios = {
        row["block_bytes"]: row["ratio"] for row in result["results"]["buffer"]["amplification"]
    }
    assert ratios[64] == 1
    assert ratios[256] == ratios[4096] > ratios[128] > 1
    (row,) = [line for line in printed if line.startswith("       16M    100.0")]
    assert row.split() == ["16M"] + ["100.0"] * 7


def test_stalls_show_in_the_tail() -> None:
    _, result = lens(["policy"])
    first = result["results"]["policy"]["overwrite"][0]
    assert first["stores_between_stalls"] == STALL_EVERY
    assert first["stalls"] == 20000 // STALL_EVERY
    assert (first["p50_ns"], first["max_ns"]) == (90, 50e3)


def test_bandwidth_by_size() -> None:
    _, result = lens(["performance"])
    rates = {
        (row["kernel"], row["threads"], row["access_bytes"]): row["value_gb_per_s"]
        for row in result["results"]["performance"]["random"]
    }
    assert rates["read-random", 4, 64] == pytest.approx(4)
    assert rates["read-random", 4, 256] == rates["read-random", 4, 4096] == pytest.approx(16)


def test_a_missing_prober_is_reported() -> None:
    printed, result = lens(["policy"], KnownSubject(without=("overwrite",)))
    assert "*** the overwrite test is left out: there is no kernel overwrite here" in printed
    assert result["results"]["policy"]["overwrite"] == []


def test_a_region_beyond_the_memory_is_refused() -> None:
    with pytest.raises(NearfarError, match="regions of model:known have at most"):
        lens(["buffer", "--largest", "1GiB"])


def test_inferred_caches_stand_beside_those_that_the_kernel_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = BufferFigure(
        name="L1", capacity_bytes=20 << 10, capacity_low_bytes=18 << 10,
        capacity_high_bytes=22 << 10, confidence=1.0, how="measured", source="here",
    )  # fmt: skip
    lens_inferred = importlib.import_module("nearfar_like.lens.inferred")
    monkeypatch.setattr(lens_inferred, "infer", lambda *_: Findings(buffers=[cache]))
    printed: list[str] = []
    lens_inferred.inferred(KnownSubject(), printed.append, (32 << 10, 32 << 20))
    line = "  L1 (read): 20.0 KiB (18.0 KiB to 22.0 KiB), "
    assert line + "the kernel reports 32.0 KiB" in printed
    assert any(text.startswith("*** do not use the inferred size of L1:") for text in printed)
    printed.clear()
    lens_inferred.inferred(KnownSubject(), printed.append)
    assert line + "confidence 100%" in printed


def test_sizes() -> None:
    assert [size_name(size) for size in (64, 1536, 16 << 20, 1 << 30)] == [
        *("64", "1.5K", "16M", "1G"),
    ]
