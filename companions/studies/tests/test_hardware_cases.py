"""Cases, predictions and scores of programs measured on real far memory."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import AccessClasses, MemoryObject, ObjectTraffic, Phase, Traffic
from nearfar_studies import verb
from nearfar_studies.hardware.cases import (
    CasePrediction,
    MemoryCase,
    read_cases,
    read_predictions,
    write_predictions,
)
from nearfar_studies.hardware.checks import checked, read_figures
from nearfar_studies.hardware.predictor import (
    latency_ratio,
    machine_of,
)
from nearfar_studies.hardware.score import score, scored
from nearfar_studies.hardware.stand_ins import FOLDER, program_of, stand_ins
from nearfar_studies.studies.applications import (
    checks_table,
    measured_cases,
    reasons_table,
    with_known_there,
)

HEADER = "id,program,input,threads,machine,near_memory,far_memory,placement,near_seconds,slowdown"


def case(id: str, slowdown: float, far: str = "remote DDR5") -> MemoryCase:
    return MemoryCase(
        id, "p", "i", "1", "cxl-dmsim", "local DDR5", far, "all-far", slowdown=slowdown
    )


def predicted(id: str, slowdown: float | None, half: float = 0.1) -> CasePrediction:
    if slowdown is None:
        return CasePrediction(id, None, None, None, "best", "abc", "no program")
    return CasePrediction(id, slowdown, slowdown - half, slowdown + half, "best", "abc", "")


def test_a_score_follows_its_definition() -> None:
    result = score([1.0, 2.0, 4.0], [1.04, 2.08, 3.0], [True, True, False])
    assert result.within == (1 / 3, 2 / 3)
    assert result.mean == pytest.approx((0.04 + 0.04 + 0.25) / 3)
    assert result.bias == pytest.approx((0.04 + 0.04 - 0.25) / 3)
    assert result.rank == 1.0
    assert result.coverage == pytest.approx(2 / 3)
    assert math.isnan(score([1.0, 1.0, 1.0], [1.0, 1.1, 1.2]).pearson)


def test_scores_are_by_source_and_memory_and_compared_with_rivals() -> None:
    truths = [case("a", 1.3), case("b", 1.9, "CXL ASIC"), case("c", 3.0, "CXL FPGA")]
    predictions = [predicted("a", 1.3), predicted("b", 1.8), predicted("d", 2.0)]
    ratios = {"remote DDR5": 1.5, "CXL ASIC": 2.0, "CXL FPGA": 3.0}
    result = scored("score", predictions, truths, lambda c: ratios[c.far_memory])
    rows = result.tables[0].rows
    assert [row.what for row in rows] == ["a", "b"]
    # Remote memory adds 0.3 at a latency that grows by 0.5: the program waits 0.6 of near time.
    assert rows[1].rivals == {"null": 1.0, "latency ratio": 2.0, "stall share": pytest.approx(1.6)}
    groups = [row[0] for row in result.texts[0].rows]
    assert "memory: remote dram" in groups and "memory: cxl expander" in groups
    left_out = {row[0] for row in result.texts[1].rows}
    assert left_out == {"c", "d"}


def test_cases_used_for_devices_are_noted_and_the_rest_scored_separately() -> None:
    known = replace(case("a", 1.3), program="STREAM 5.10 copy")
    truths = [known, case("b", 2.0, "CXL ASIC")]
    result = scored("score", [predicted("a", 1.3), predicted("b", 1.8)], truths)
    marked = with_known_there(result, truths)
    assert [bool(row.note) for row in marked.tables[0].rows] == [True, False]
    assert marked.verdict[-1].endswith("1 cases: mean error 10.0% of time, 0% within 10 points")


def test_disjoint_ids_are_refused() -> None:
    with pytest.raises(NearfarError, match="same id"):
        scored("score", [predicted("x", 1.0)], [case("a", 1.3)])


def test_predictions_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    made = [predicted("a", 1.25), predicted("b", None)]
    write_predictions(made, path)
    assert read_predictions(path) == [
        CasePrediction("a", 1.25, 1.15, 1.35, "best", "abc", ""),
        made[1],
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,program\na,b\n", "no column 'input'"),
        (f"{HEADER}\na,p,i,1,m,n,f,all-far,minus,\n", "expected a number above 0"),
        (f"{HEADER}\na,p,i,1,m,n,f,all-far,1,1\na,p,i,1,m,n,f,all-far,1,1\n", "two rows"),
        (f"{HEADER}\na,p,i,1,m,n,f,all-far,1,-2\n", "slowdown of a is '-2'"),
    ],
)
def test_a_bad_table_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(NearfarError, match=sentence):
        read_cases(path)


def test_ids_and_slowdowns_suffice_for_a_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, made = tmp_path / "truth.csv", tmp_path / "made.csv"
    truth.write_text("id,slowdown\na,1.3\nb,1.9\n")
    made.write_text("id,slowdown,low,high,model,commit,assumed\na,1.4,,\nb,2.0,,,best,abc,\n")
    assert main(["reproduce", "--score", str(truth), "--predictions", str(made)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 cases: Pearson -, rank -" in told and "- inside the intervals" in told


def test_an_interval_that_ends_before_it_begins_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, made = tmp_path / "truth.csv", tmp_path / "made.csv"
    truth.write_text("id,slowdown\na,1.3\n")
    made.write_text("id,slowdown,low,high,model,commit,assumed\na,1.4,1.6,1.2,best,abc,\n")
    assert main(["reproduce", "--score", str(truth), "--predictions", str(made)]) == 2
    assert "the interval of a is 1.6 to 1.2, expected low at most high" in capsys.readouterr().err


def test_without_predictions_those_of_the_repository_are_scored_or_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with verb.PREDICTIONS.open(newline="") as file:
        first = next(row for row in csv.DictReader(file) if row["slowdown"])
    truth = tmp_path / "truth.csv"
    truth.write_text(f"id,slowdown\n{first['id']},1.0\n")
    assert main(["reproduce", "--score", str(truth)]) == 0
    assert "1 case" in capsys.readouterr().out
    # As in an installed wheel, which has no repository around it.
    monkeypatch.setattr(verb, "PREDICTIONS", tmp_path / "predictions.csv")
    assert main(["reproduce", "--score", str(truth)]) == 2
    assert "name yours with --predictions FILE.csv" in capsys.readouterr().err


def test_a_missing_file_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "absent.csv"
    assert main(["reproduce", "--score", str(absent), "--predictions", str(absent)]) == 2
    assert capsys.readouterr().err == f"nearfar: cannot read {absent}: No such file or directory\n"


def test_every_measured_case_has_a_program_an_input_and_a_machine() -> None:
    cases = measured_cases()
    assert len(cases) == len({each.id for each in cases}) > 80
    for each in cases:
        program = program_of(each)
        assert program is not None, each.program
        assert program.input_of(f"{each.program}: {each.input}") is not None, each.id
        assert machine_of(each).llc_bytes > 0
        assert (latency_ratio(each) or 0.0) > 1.0
        assert each.near_seconds or each.near_rate


def test_every_stand_in_has_its_source_and_cites_what_it_stands_for() -> None:
    for program in stand_ins():
        assert (FOLDER / program.code).is_file()
        assert program.source and program.title


def test_every_stand_in_has_a_figure_of_its_source_or_is_known_to_have_none() -> None:
    without = {program.name for program in stand_ins() if not program.figures}
    assert without == {"embed"}


def test_every_measured_case_is_checked_against_its_source() -> None:
    unchecked = set()
    for each in measured_cases():
        program, text = program_of(each), f"{each.program}: {each.input}"
        assert program is not None
        if not any(re.search(figure.match, text) for figure in program.figures):
            unchecked.add(text.split(",", maxsplit=1)[0])
    # What these sources say of the small classes is no more than the sizes of their grids.
    assert unchecked <= {
        *(f"NPB 3.x {name}: class {size}" for name in ("BT", "MG") for size in "ABC"),
        "RocksDB",
    }


def test_a_part_of_a_grid_keeps_its_rows_and_cuts_its_planes() -> None:
    npb = next(program for program in stand_ins() if program.name == "npb")
    kind = npb.input_of("NPB 3.x BT: class D, 408^3, 250 iterations, 25.7 GB")
    assert kind is not None and kind.arguments == ("bt", "102", "102", "24")
    assert kind.data_bytes == pytest.approx(25.7 * 1.0465e9)
    # As BT prints it: 3478.8 n^3 - 17655.7 n^2 + 28023.7 n operations an iteration.
    per_point = 3478.8 - 17655.7 / 408 + 28023.7 / 408**2
    assert kind.rate_per_operation == pytest.approx(per_point * 1e-6)
    dense = next(program for program in stand_ins() if program.name == "dense")
    whole = dense.input_of("PolyBench jacobi-2d: N=8000")
    assert whole is not None and whole.arguments == ("jacobi-2d", "8000", "575")
    assert whole.data_bytes == pytest.approx(16 * 8000**2)


def counted_profile(misses: float, write_backs: float) -> WorkloadProfile:
    """Return a profile of 10 operations on one object called "a"."""
    traffic = Traffic(read_misses=AccessClasses(stream=misses), write_backs=write_backs)
    return WorkloadProfile(
        producer=producer(),
        program=Program(
            command=["x"],
            executable="x",
            compiler="",
            threads_seen=1,
            processes_seen=1,
            exit_status="exited 0",
            plain_executable="x",
        ),
        cache=CacheModel(size_bytes=1 << 20, ways=16, line_bytes=64, origin="--llc"),
        sampling=Sampling(rate=1, sampled_accesses=0, sampled_misses=0, relative_error=0.0),
        instrumented_slowdown=1.0,
        objects=[
            MemoryObject(
                id=0,
                name="array kind.hpp:38, a",
                kind="heap",
                frames=[],
                allocations=1,
                allocated_bytes=4096,
                peak_live_bytes=4096,
                live_bytes_at_peak=4096,
                size_bytes=4096,
            )
        ],
        instructions=[],
        phases=[
            Phase(
                name="run",
                near_cpu_time_ns=Estimate(1.0, 1.0, 1.0),
                near_repetitions=1,
                near_wall_time_ns=1.0,
                operations=10.0,
                objects=[ObjectTraffic(object=0, traffic=traffic)],
                instructions=[],
            )
        ],
        live=[],
    )


FIGURE = {
    "match": "p: ",
    "what": "bytes moved",
    "quantity": "moved_bytes",
    "value": 32.0,
    "tolerance": 0.1,
    "source": "its code",
}


@pytest.mark.parametrize(
    ("entry", "ours", "agrees"),
    [
        ({}, 32.0, True),
        ({"value": 16.0}, 32.0, False),
        ({"quantity": "read_bytes", "value": 24.0, "tolerance": 0.25}, 19.2, True),
        ({"objects": ["b"]}, 0.0, False),
        ({"quantity": "data_bytes", "objects": ["a"], "value": 4096.0}, 4096.0, True),
    ],
)
def test_a_figure_is_counted_and_compared(
    entry: dict[str, object], ours: float, agrees: bool
) -> None:
    figures = read_figures([FIGURE | entry], "p.toml")
    (check,) = checked(figures, "p: i", counted_profile(3.0, 2.0), "run")
    assert check.ours == pytest.approx(ours) and check.agrees == agrees
    assert checked(figures, "another: i", counted_profile(3.0, 2.0), "run") == []


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"quantity": "joules"}, "'joules' is no quantity"),
        ({"width": 3}, "has or lacks width"),
    ],
)
def test_a_bad_figure_is_refused(entry: dict[str, object], sentence: str) -> None:
    with pytest.raises(NearfarError, match=sentence):
        read_figures([FIGURE | entry], "p.toml")


def test_a_program_unlike_its_source_shows_in_the_table() -> None:
    figures = read_figures([FIGURE, FIGURE | {"value": 64.0}], "p.toml")
    made = checked(figures, "p: i", counted_profile(3.0, 2.0), "run")
    rows = checks_table({("p", "i"): made}).rows
    assert [row[5] for row in rows] == ["yes, within 10%", "NO"]


def test_cases_that_are_off_are_grouped_by_their_reason() -> None:
    cases = [case("npb-mg-E", 5.0), case("unheard-of", 2.0), case("right", 2.0)]
    predictions = [
        predicted("npb-mg-E", 2.5),
        predicted("unheard-of", 1.0),
        predicted("right", 2.1),
    ]
    rows = reasons_table(predictions, cases).rows
    assert sorted(row[1] for row in rows) == ["50.0%", "50.0%"]
    assert any(row[3] == "unknown: unheard-of" for row in rows)


def test_blind_predicts_every_row_or_gives_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = next(c for c in measured_cases() if c.id == "polybench-jacobi-2d-16000-vs-dram")
    names = ("program", "input", "threads", "machine", "near_memory", "far_memory", "placement")
    row = {"id": "known", **{name: getattr(measured, name) for name in names}, "near_rate": "1.6"}
    cases, output = tmp_path / "cases.csv", tmp_path / "out.csv"
    with cases.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerows([row, row | {"id": "unknown", "program": "a new program"}])
    command = ["reproduce", "applications", "--blind", str(cases), "-o", str(output)]
    assert main(command) == 0
    assert "predicted 1 of 2 cases" in capsys.readouterr().out
    known, unknown = read_predictions(output)
    assert known.slowdown is not None and known.low is not None and known.high is not None
    assert known.low <= known.slowdown <= known.high
    assert known.commit and known.model == "memory-mode"
    assert unknown.slowdown is None and "a new program" in unknown.assumed
    truth = tmp_path / "truth.csv"
    with truth.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*row, "slowdown"])
        writer.writeheader()
        writer.writerow(row | {"slowdown": "1.1"})
    assert main(["reproduce", "--score", str(truth), "--predictions", str(output)]) == 0
    assert "1 case: Pearson" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--blind", "x.csv"], "goes with the study applications"),
        (["applications", "--score", "x.csv"], "runs no study"),
        (["applications", "--predictions", "x.csv"], "goes with --score"),
        (["cycle-level", "--profiles", "x"], "goes with the studies applications and population"),
        (["applications", "--blind", "x.csv"], "name it with -o"),
    ],
)
def test_conflicting_options_are_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
