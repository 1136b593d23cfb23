"""Counters of several sizes are fitted: known curves are recovered, poor data refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import NearfarError
from nearfar.documents import save
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.header import producer
from nearfar.predict.fitted_counters import fit, profile_of_fit

SIZES = (1e5, 3e5, 1e6, 3e6)


def time_ns(n: float) -> float:
    return 600.0 * n + 5e6


def misses(n: float) -> float:
    return n * (0.3 * math.log(n) - 2.0)


def counted(n: float, **changed: float | None) -> CounterProfile:
    counts = {"cpu_time_ns": time_ns(n), "llc_load_misses": misses(n), "write_bytes": 6.4 * n}
    results = {name: count for name, count in {**counts, **changed}.items() if count is not None}
    return CounterProfile(
        producer=producer(["tests"]),
        file=f"{n:g}.csv",
        format="csv",
        names={name: [name] for name in results},
        scaled={},
        intervals=[CounterInterval(begin_s=0.0, end_s=time_ns(n) * 1e-9, **results)],
        size={"n": n},
    )


@pytest.mark.parametrize(
    ("law", "grows"),
    [("a + b / n", time_ns), ("a + b ln n", misses)],
)
def test_a_curve_is_recovered(law: str, grows: Callable[[float], float]):
    result = fit(np.array(SIZES), [grows(n) for n in SIZES], 5e5, "it")
    assert result.law == law
    assert result.value == pytest.approx(grows(5e5))
    assert result.error < 1e-9


def test_between_the_counted_sizes_it_is_the_profile_of_the_curves():
    made = profile_of_fit([counted(n) for n in SIZES], {"n": 5e5})
    (phase,) = made.phases
    assert phase.near_cpu_time_ns.value == pytest.approx(time_ns(5e5))
    assert phase.objects[0].traffic.misses() == pytest.approx(misses(5e5))
    assert phase.objects[0].traffic.write_backs == pytest.approx(5e4)
    assert "n=500000 was not counted" in made.warnings[0]


def test_the_error_on_left_out_sizes_is_the_interval():
    noisy = [counted(n, cpu_time_ns=time_ns(n) * (1.1 if n == 1e6 else 1.0)) for n in SIZES]
    time = profile_of_fit(noisy, {"n": 5e5}).phases[0].near_cpu_time_ns
    assert time.low <= 0.92 * time.value
    assert time.low < time_ns(5e5) < time.high


@pytest.mark.parametrize(
    ("files", "sizes", "message"),
    [
        ([counted(n) for n in SIZES], {"n": 5e6}, "outside the sizes counted"),
        ([counted(n) for n in SIZES], {"m": 5e5}, "m=500000 is required"),
        ([counted(n) for n in SIZES[:3]], {"n": 5e5}, "3 sizes are too few"),
        ([counted(1e5)] * 4, {"n": 1e5}, "no size differs"),
        (
            [*(counted(n) for n in SIZES[1:]), counted(1e5, write_bytes=None)],
            {"n": 5e5},
            "same events",
        ),
        ([counted(n, llc_load_misses=n**2 / 1e3) for n in SIZES], {"n": 5e5}, "follows no curve"),
        ([counted(n, llc_load_misses=n - 1e5) for n in SIZES], {"n": 5e5}, "is 0 at 100000"),
    ],
)
def test_unfit_counters_is_refused(
    files: list[CounterProfile], sizes: dict[str, float], message: str
):
    with pytest.raises(NearfarError, match=message):
        profile_of_fit(files, sizes)


def test_predict_takes_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for n in SIZES:
        save(counted(n), tmp_path / f"{n:g}.json")
    save(samples.device(), tmp_path / "near.json")
    files = [str(tmp_path / f"{n:g}.json") for n in SIZES]
    near = ["--near", str(tmp_path / "near.json"), "--far", "thesis-pmem"]
    assert main(["predict", *files, *near, "--size", "n=5e5", "--json"]) == 0
    assert '"model":"counters"' in capsys.readouterr().out.replace(" ", "")
    assert main(["predict", *files, *near]) == 2
    assert "--size" in capsys.readouterr().err
    assert main(["predict", files[0], str(tmp_path / "near.json"), *near, "--size", "n=5e5"]) == 2
    assert "holds no counters" in capsys.readouterr().err
