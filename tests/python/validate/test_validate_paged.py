"""Sessions in a paged memory: scores, what is refused, and one small session."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from swap_alone import permitted, swap_alone

from nearfar.__main__ import main
from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import PagedValidation, loaded
from nearfar.documents.paged_validation import LockedRun, PagedCase, PagedCliff
from nearfar.options.validate import ValidateOptions
from nearfar.validate.beside import scaled_device
from nearfar.validate.paged import chosen_paged, paged_kernels
from nearfar.validate.paged_scores import print_paged, scored


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with swap_alone():
        yield


def case(slowdown: float, predicted: float, **more: object) -> PagedCase:
    fields = {"faults": 10_000.0, "predicted_faults": Estimate(11_000.0, 9_000.0, 13_000.0), **more}
    return PagedCase(
        name="loop", what="kernel", near_share=0.5, budget_bytes=1 << 20,
        near_ns=Estimate(1e8, 1e8, 1e8), cpu_ns=Estimate(2e8, 2e8, 2e8), slowdown=slowdown,
        predicted=Estimate(predicted, 0.9 * predicted, 1.2 * predicted),
        models={"null": 1.0, "touches": 3 * predicted}, fault_ns=1e4, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def gained(predicted: float, measured: float) -> LockedRun:
    return LockedRun(
        locked_bytes=1 << 19, predicted_gain=predicted, measured_gain=measured,
        cpu_ns=Estimate(1e8, 1e8, 1e8), faults=5000.0,
    )  # fmt: skip


def test_scores_are_of_cases_that_faults_slow_down_and_that_can_be_run() -> None:
    cases = [
        case(2.0, 2.2, locked=gained(1.5, 1.6), predicted_alone=Estimate(2.2, 2.1, 2.3)),
        case(4.0, 3.0, locked=gained(1.05, 0.9)),
        case(8.0, 8.0, locked=gained(2.0, 2.5), predicted_alone=Estimate(8.0, 7.9, 8.1)),
        case(1.01, 1.4, faults=10.0),
        case(50.0, 20.0),
    ]
    cliffs = [
        PagedCliff(name="loop", near_share=0.9, slowdown_above=1.1, slowdown_below=4.0),
        PagedCliff(name="hash", near_share=0.4, slowdown_above=1.1, slowdown_below=1.6),
    ]
    left_out = {"hash at 25%": "was killed"}
    report = scored("zram", load_device("zram-lz4"), cases, cliffs, left_out)
    paged = report.models["paged"]
    assert paged.cases == 3
    assert paged.mean_error == pytest.approx((0.1 + 0.25 + 0.0) / 3)
    assert paged.rank == pytest.approx(1.0)
    assert report.models["null"].mean_error == pytest.approx((0.5 + 0.75 + 0.875) / 3)
    assert report.coverage == pytest.approx(2 / 3)
    assert report.coverage_alone == 0.5
    assert report.fault_error == pytest.approx(0.1)
    assert report.gain == pytest.approx((1.6 * 2.5) ** 0.5)
    assert report.worst_gain == 0.9
    text = StringIO()
    print_paged(report, Console(file=text, width=200))
    for shown in (
        "1.50x",
        "noise measured beside: 67%; without this noise: 50%",
        "3 of 5 cases",
        "(within 5 % of their pages): 1 of 2",
        "The slowest plan ran 0.90 times as fast",
        "left out: hash at 25%: was killed",
    ):
        assert shown in text.getvalue()


def test_no_case_has_no_score() -> None:
    report = scored("zram", load_device("zram-lz4"), [case(1.01, 1.4)], [], {})
    assert report.models == {}
    text = StringIO()
    print_paged(report, Console(file=text, width=100))
    assert "0 of 1 cases" in text.getvalue()
    assert " 0.0%" not in text.getvalue()


def test_kernels_are_those_of_the_source() -> None:
    assert len(paged_kernels()) == 14
    assert chosen_paged(["loop", "chase", "loop"]) == ["loop", "chase"]
    with pytest.raises(NearfarError, match="there is no kernel 'lop' for paged memories"):
        chosen_paged(["lop"])


def test_all_times_of_a_page_follow_the_one_measured_beside() -> None:
    device = load_device("zram-lz4")
    reference = next(row for row in device.faults if row.event == "exchange")
    scaled = scaled_device(device, [share * reference.value_ns for share in (1.5, 2.0, 3.0)])
    for after, before in zip(scaled.faults, device.faults, strict=True):
        assert after.value_ns == pytest.approx(2.0 * before.value_ns)
        assert before.low_ns is not None
        assert before.high_ns is not None
        # Nine in ten of 1.5, 2 and 3.
        assert after.low_ns == pytest.approx(min(1.55 * before.value_ns, 2.0 * before.low_ns))
        assert after.high_ns == pytest.approx(max(2.9 * before.value_ns, 2.0 * before.high_ns))
    narrow = scaled_device(device, [share * reference.value_ns for share in (1.5, 2.0, 3.0)],
                           spread=False)  # fmt: skip
    for after, before in zip(narrow.faults, device.faults, strict=True):
        assert before.low_ns is not None
        assert after.low_ns == pytest.approx(2.0 * before.low_ns)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"yes": True, "far": "node:1"}, "--yes applies only to a paged --far"),
        ({"far": "zram", "cores": "apart"}, "leave out --near, --cores, --learn"),
        ({"far": "swap:/var/tmp", "learn": True}, "limits a program's memory"),
    ],
)
def test_options_of_other_sessions_are_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        ValidateOptions(**options)  # type: ignore[arg-type]


@permitted
def test_without_yes_it_shows_what_it_would_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--far", "zram"]) == ExitCode.DONE
    assert "mkswap /dev/zramN" in capsys.readouterr().out


@permitted
@pytest.mark.long
def test_a_session_predicts_a_loop_and_its_plan(tmp_path: Path) -> None:
    output = tmp_path / "session.json"
    words = ["validate", "--far", "zram", "--yes", "--quick", "--only", "loop", "--size", "32MiB"]
    assert main([*words, "-q", "-o", str(output)]) == ExitCode.DONE
    report = loaded(output, PagedValidation)
    shares = [case.near_share for case in report.cases]
    assert shares == pytest.approx([0.75, 0.5, 0.25], abs=0.01)
    for each in report.cases:
        assert each.faults == pytest.approx(each.predicted_faults.value, rel=0.1)
        assert each.predicted.low <= each.predicted.value <= each.predicted.high
    # Where most of the loop is near, a random choice of pages would leave a plan little to gain.
    locked = [case.locked for case in report.cases if case.locked is not None]
    assert locked
    assert all(run.faults < report.cases[0].faults for run in locked)
