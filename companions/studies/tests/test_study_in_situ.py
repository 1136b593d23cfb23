"""The pipeline really runs: two threads, two memories, and correct sums."""

from __future__ import annotations

import shutil

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar_studies import in_situ_run
from nearfar_studies.studies.in_situ_here import result_of

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


@pytest.mark.timing
@needs_compiler
@pytest.mark.parametrize("far", ["file:/dev/shm", "dram"])
def test_it_runs_and_its_times_add_up(far: str) -> None:
    ran = in_situ_run.run_pipeline_here(far, nodes=20_000, sets=in_situ_run.SETS)
    parts = ran.pipeline
    assert parts.generate + parts.generate_idle <= parts.total
    assert parts.transfer + parts.analyse + parts.transfer_idle <= parts.total
    assert min(parts.generate, parts.transfer, parts.analyse) > 0
    assert ran.alone_generate + ran.alone_analyse == pytest.approx(ran.alone_total)
    result = result_of(ran)
    (times,) = result.tables
    total = next(row for row in times.rows if row.what == "total")
    # Only the locks decide where parts overlap; starting threads is in the measured time.
    assert total.ours is not None
    assert total.ours <= parts.total * 1.01
    assert total.ours >= max(parts.generate, parts.transfer + parts.analyse) * 0.99
    assert far in result.verdict[0]


@needs_compiler
def test_a_missing_memory_is_reported() -> None:
    with pytest.raises(NearfarError, match="/no/such/folder") as error:
        in_situ_run.run_pipeline_here("file:/no/such/folder", nodes=1000, sets=2)
    assert error.value.exit_code in (ExitCode.MACHINE_LACKS, ExitCode.WRONG_USE)


def test_a_single_memory_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_situ_run, "slower_memories", lambda _: [])
    with pytest.raises(NearfarError, match="one memory only") as error:
        in_situ_run.far_here()
    assert error.value.exit_code == ExitCode.MACHINE_LACKS
