"""Samples as a Parquet table."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from nearfar.base.errors import NearfarError
from nearfar.samples.parquet import (
    QUANTILES,
    WHOLE_ACCESSES,
    is_in_ns,
    read_evidence,
    read_parquet,
    summarise,
    write_parquet,
)
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore, header

CHASE = SamplePoint("latency", "chase", 4096, 1 << 20)
READ = SamplePoint("bandwidth", "read", 2 << 20, 1 << 28, threads=2)
SHORT = SamplePoint("loaded", "chase", 4096, 1 << 28, pause_ns=50.0, generator="read", each=True)
LONG = SamplePoint("persist", "persist-clwb", 4096, 1 << 28, each=True, fence_every=1)


def _times(count: int, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).lognormal(5, 1, count).astype(np.float32)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with SampleStore.create(tmp_path / "s", header("dram", {"quick": "yes"})) as store:
        store.append(CHASE, Sample(100.0))
        store.append(READ, Sample(12.5))
        store.append(CHASE, Sample(102.0, disturbed=True))
        store.append(SHORT, Sample(130.0, 5.5, _times(WHOLE_ACCESSES)))
        store.append(LONG, Sample(150.0, each_ns=_times(100_000, 3)))
        assert write_parquet(tmp_path / "samples.parquet", store.header, store.records()) == 5
    return tmp_path / "samples.parquet"


def test_every_field_of_a_point_is_a_column_with_its_unit(table: Path) -> None:
    names = parquet.read_schema(table).names
    assert [field.name for field in dataclasses.fields(SamplePoint)] == names[
        : len(dataclasses.fields(SamplePoint))
    ]
    assert {"value_ns", "value_gb_per_s", "drawn_gb_per_s", "repetition"} <= set(names)
    columns = parquet.read_table(table).to_pydict()
    assert columns["value_ns"][:3] == [100.0, None, 102.0]
    assert columns["value_gb_per_s"][:3] == [None, 12.5, None]
    assert columns["repetition"][:3] == [0, 0, 1]
    assert columns["pause_ns"][:4] == [None, None, None, 50.0]


def test_points_and_samples_round_trip(table: Path) -> None:
    head, rows = read_parquet(table)
    assert head.settings == {"quick": "yes"}
    assert [row.point for row in rows] == [CHASE, READ, CHASE, SHORT, LONG]
    assert [row.sample.value for row in rows] == [100.0, 12.5, 102.0, 130.0, 150.0]
    assert rows[2].sample.disturbed
    np.testing.assert_array_equal(rows[3].sample.each_ns, _times(WHOLE_ACCESSES))
    assert rows[3].summary is None
    assert rows[4].sample.each_ns is None


def test_quantiles_and_the_exact_tail_of_long_samples_are_kept(table: Path) -> None:
    _, rows = read_parquet(table)
    summary = rows[4].summary
    assert summary is not None
    times = _times(100_000, 3)
    assert summary.count == times.size
    assert summary.quantiles_ns.size == QUANTILES
    np.testing.assert_array_equal(times[summary.tail_index], summary.tail_ns)
    assert summary.tail_index.size == 1000
    ordered = np.sort(times)
    np.testing.assert_array_equal(np.sort(summary.tail_ns), ordered[-1000:])
    places = np.linspace(0, 1, QUANTILES)
    np.testing.assert_allclose(summary.quantiles_ns, np.quantile(times, places), rtol=0.02)
    assert table.stat().st_size < times.nbytes / 8


@given(st.lists(st.floats(1, 1e6, width=32), max_size=300))
def test_a_summary_of_any_times_has_its_extremes(values: list[float]) -> None:
    summary = summarise(np.asarray(values, np.float32))
    assert summary.count == len(values)
    if values:
        assert summary.quantiles_ns[0] == min(values)
        assert summary.quantiles_ns[-1] == max(values)
        assert max(summary.tail_ns, default=max(values)) == max(values)


@pytest.mark.parametrize(
    ("point", "in_ns"),
    [
        (CHASE, True),
        (READ, False),
        (LONG, True),
        (dataclasses.replace(LONG, each=False), True),
        (dataclasses.replace(LONG, each=False, threads=2), False),
        (SamplePoint("queue", "read-after-write", 4096, 4096), True),
        (SamplePoint("overwrite", "overwrite", 4096, 4096), True),
        (SamplePoint("bandwidth", "mixed", 4096, 4096, read_share=0.5), False),
        (SamplePoint("chains", "chains", 4096, 4096, chains=4), True),
        (SamplePoint("latency", "chase-sequential", 4096, 4096), True),
        (dataclasses.replace(CHASE, threads=2), False),
        (dataclasses.replace(READ, threads=1), False),
    ],
)
def test_the_unit_follows_from_the_point(point: SamplePoint, in_ns: bool) -> None:
    assert is_in_ns(point) is in_ns


def test_the_unit_of_every_kernel_follows_from_its_traffic() -> None:
    from nearfar import _measure

    kernels = {kernel.name: kernel for kernel in _measure.kernels()}
    if not all(hasattr(kernel, "traffic") for kernel in kernels.values()):
        pytest.skip("nearfar._measure was built before kernels declared their traffic: pip install")
    for name, kernel in kernels.items():
        traffic = kernel.traffic()
        waits = traffic.dependent_loads > 0 or traffic.fences > 0
        assert is_in_ns(SamplePoint("latency", name, 4096, 4096)) is waits, name


def test_a_broken_or_foreign_table_is_refused(table: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    cut = tmp_path / "cut.parquet"
    cut.write_bytes(table.read_bytes()[:-100])
    with pytest.raises(NearfarError, match="cannot read samples"):
        read_parquet(cut)
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"x": [1]}), other)
    with pytest.raises(NearfarError, match="not one of nearfar's samples"):
        read_parquet(other)
    with pytest.raises(NearfarError, match="cannot read samples"):
        read_parquet(tmp_path / "absent.parquet")


def test_evidence_is_saved_with_the_samples(table: Path, tmp_path: Path) -> None:
    from nearfar.samples.evidence import Evidence

    x = np.array([1.0, 2.0])
    given = {
        "knee": Evidence("latency", "t", "region (bytes)", "ns", x, x, x, x, (1.5,), x),
        "none": Evidence("latency", "t", "writes", "ns", x, x, x, x, log_x=False),
    }
    assert read_evidence(table) == {}
    with SampleStore.load(tmp_path / "s") as store:
        write_parquet(table, store.header, store.records(), given)
    result = read_evidence(table)
    assert list(result) == ["knee", "none"]
    assert result["knee"].knees == (1.5,)
    np.testing.assert_array_equal(result["knee"].fitted, x)
    assert result["none"].fitted is None
    assert not result["none"].log_x
