"""Stand-ins for X-Mem's applications run, report latencies, and are slower in far memory."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nearfar.native_files import include_folder
from nearfar_studies.applications import APPLICATIONS, SOURCES, Application
from nearfar_studies.percentiles import (
    Histogram,
    MeanTimes,
    near_ns,
    percentiles_ns,
    read_histograms,
    slowdowns,
)
from nearfar_studies.studies.x_mem_applications import PUBLISHED, XMemApplications
from nearfar_studies.study import StudyInputs

SMALL = {"graph": ("16384", "1"), "index": ("1", "2000"), "cache": ("5000", "4000")}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda each: each.name)
def test_an_application_serves_requests_and_reports_latencies(
    application: Application, tmp_path: Path
) -> None:
    program, into = tmp_path / "program", tmp_path / "latencies.csv"
    options = ["-std=c++20", "-O0", "-pthread", f"-I{include_folder()}"]
    subprocess.run(["g++", *options, SOURCES / application.source, "-o", program], check=True)
    done = subprocess.run(
        [program, *SMALL[application.name], "--latencies", into],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ requests a second$", done.stdout, re.MULTILINE)
    histograms = read_histograms(into)
    assert set(application.requests) <= set(histograms)
    for kind in application.requests:
        # Buckets end at most 1/32 above their largest value.
        from_buckets = float((histograms[kind].up_to_ns * histograms[kind].counts).sum())
        assert histograms[kind].total_ns <= from_buckets <= 1.04 * histograms[kind].total_ns
    wrong = subprocess.run([program, "many"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def test_added_time_moves_percentiles_between_constant_and_proportional() -> None:
    quick = Histogram(np.array([100.0, 200.0]), np.array([99.0, 1.0]), 10_100.0)
    slow = Histogram(np.array([1000.0]), np.array([100.0]), 100_000.0)
    requests = {"quick": quick, "slow": slow}
    times = {"quick": MeanTimes(101.0, 101.0, 202.0), "slow": MeanTimes(1000.0, 1000.0, 1100.0)}
    shares = [0.25, 0.4975, 0.75]
    assert percentiles_ns(requests, shares).tolist() == [100.0, 200.0, 1000.0]
    evenly = percentiles_ns(requests, shares, times, "evenly")
    assert evenly == pytest.approx([201.0, 301.0, 1100.0])
    proportional = percentiles_ns(requests, shares, times, "in proportion")
    assert proportional == pytest.approx([200.0, 400.0, 1100.0])
    assert near_ns(requests, shares, times, "evenly").tolist() == [100.0, 200.0, 1000.0]
    for (low, high), application in zip(slowdowns(requests, shares, times), evenly, strict=True):
        assert low < high
        assert low * 100 <= application
    same = {kind: MeanTimes(5.0, 5.0, 5.0) for kind in requests}
    assert percentiles_ns(requests, shares, same).tolist() == [100.0, 200.0, 1000.0]


@pytest.mark.long
def test_three_stand_ins_are_slowed_down() -> None:
    study = XMemApplications()
    study.name = "x-mem-applications"
    result = study.run(StudyInputs())
    rows = result.tables[0].rows
    assert [row.published for row in rows] == [
        end for application in PUBLISHED for end in application.ends
    ]
    mild, harsh = ([row.ours or 0.0 for row in rows[at::2]] for at in (0, 1))
    # All far, a graph is much slower; with half of the data near by the guided plan, hardly.
    assert mild[0] > 1.3
    assert harsh[0] > 2.0
    assert harsh[1] < 0.6 * harsh[0]
    assert all(application <= other * 1.01 for application, other in zip(mild, harsh, strict=True))
    for row in rows:
        assert (row.low or 0.0) <= (row.ours or 0.0) <= (row.high or 0.0)
    kept = {(program, share): things for program, share, things in result.texts[3].rows}
    # Small objects with random reads stay near: the vertices' values and inner structures.
    assert "sent" in kept["graph analytics", "1/8"]
    assert "tree" in kept["transactional index", "1/16"]
    assert "hash table" in kept["key-value cache", "1/8"]
    assert "adjacency in" not in kept["graph analytics", "1/4"]
