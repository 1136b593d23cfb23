"""Published figures as transcribed agree with other figures of their sources."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar_studies import hashmap, in_situ
from nearfar_studies.figures import published
from nearfar_studies.studies.nvdimm_copies import FIGURES
from nearfar_studies.studies.nvdimm_pipeline import its_total_s

NVDIMM = published("nvdimm-thesis")
HASHMAP = published("performance-thesis")


def mean_error(ours: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.abs(ours / truth - 1.0)))


# Figures 3, 6 and 9 print the sum of both groups: rows 1, 8 and 15, iterations 1-20.
SUMS = {
    "NVM->NVM": {1: 67469.62, 8: 67886.07, 15: 58651.21},
    "NVM->DRAM": {1: 55364.78, 8: 67485.21, 15: 67418.81},
    "DRAM->NVM": {1: 66772.43, 8: 70188.28, 15: 71426.60},
}


@pytest.mark.parametrize("kind", SUMS)
def test_groups_add_up_to_the_printed_sum(kind: str) -> None:
    figure, _ = FIGURES[kind]
    dram, other = (NVDIMM.columns(f"{figure} {group}") for group in ("DRAM", "NVM"))
    for threads, total in SUMS[kind].items():
        at = threads - 1
        assert dram["nvm_threads"][at] == threads
        assert dram["1-20"][at] + other["1-20"][at] == pytest.approx(total, abs=0.02)


def test_tables_of_the_pipeline_have_the_same_times() -> None:
    whole, generation = NVDIMM.columns("8"), NVDIMM.columns("13")
    consumption = NVDIMM.columns("14")
    assert np.array_equal(whole["generate"], generation["measured"])
    assert np.array_equal(whole["transfer"], consumption["transfer"])
    assert np.array_equal(whole["analyse"], consumption["analysis"])
    assert np.array_equal(whole["generate_threads"] + whole["analyse_threads"], whole["threads"])
    # Each stage's time and idle time fill the whole run.
    stage = whole["transfer_idle"] + whole["transfer"] + whole["analyse"]
    assert np.allclose(stage, whole["total"], rtol=0.003)


def test_its_traffic_model_has_the_recalculated_error() -> None:
    for key, expected in (("2", 0.158), ("3", 0.006), ("13", 0.24)):
        printed = NVDIMM.columns(key)
        assert mean_error(printed["its_prediction"], printed["measured"]) == pytest.approx(
            expected, abs=0.005
        )
    printed = NVDIMM.columns("14")
    assert mean_error(printed["its_transfer"], printed["transfer"]) == pytest.approx(
        0.65, abs=0.005
    )
    assert mean_error(its_total_s(), NVDIMM.columns("8")["total"]) == pytest.approx(0.38, abs=0.005)


def test_its_transfer_prediction_counts_the_bytes_once() -> None:
    printed = NVDIMM.columns("14")
    once_mb = in_situ.NODES * in_situ.DOUBLE * in_situ.SETS / 1e6
    assert np.allclose(once_mb / printed["nvm_speed"], printed["its_transfer"], rtol=0.001)


def test_bytes_of_a_set_are_its_own_count_and_the_line_read_for_ownership() -> None:
    # Table 2: 2.5 doubles a node and 1.5 an edge, 5000 times: 1,600,000 and 7,677,120 MB.
    its_mb = 1_600_000.00 + 7_677_120.24
    ours_mb = in_situ.GENERATE_BYTES * in_situ.SETS / 1e6
    ownership_mb = in_situ.NODES * in_situ.DOUBLE * in_situ.SETS / 1e6
    assert ours_mb == pytest.approx(its_mb + ownership_mb, rel=1e-6)


def test_its_hash_map_models_have_the_recalculated_errors() -> None:
    printed = HASHMAP.columns("6.1")
    large = printed["n"] >= 2_000_000
    for model, over_all, over_large in (
        ("counters_model", 0.081, 0.068),
        ("code_model", 0.135, 0.087),
    ):
        assert mean_error(printed[model], printed["real"]) == pytest.approx(over_all, abs=0.0006)
        assert mean_error(printed[model][large], printed["real"][large]) == pytest.approx(
            over_large, abs=0.0006
        )


def test_its_equations_give_its_table_only_with_processor_time() -> None:
    n = np.array([50_000.0, 100_000.0, 1_000_000.0])
    bare = hashmap.its_counters_model_s(n, with_cpu=False)
    full = hashmap.its_counters_model_s(n, with_cpu=True)
    assert bare[2] == pytest.approx(0.7435, abs=0.0001)
    assert full[2] == pytest.approx(0.7435 + 0.4067, abs=0.0001)
    assert full[1] == pytest.approx(0.069, abs=0.0005)
    assert full[0] == pytest.approx(0.0224, abs=0.0001)


def test_its_code_model_is_a_constant_per_get() -> None:
    n = np.array([1.0, 7_000_000.0])
    printed = hashmap.its_code_model_s(n) / n * 1e9
    # 4 1/3 reads of 305 ns, and a byte at 7.45 GB/s.
    assert printed == pytest.approx([1321.8, 1321.8], abs=0.1)
    assert hashmap.its_code_model_s(n)[1] == pytest.approx(9.253, abs=0.001)
