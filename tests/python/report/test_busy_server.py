"""The sentence on a server whose other programs take most of the last-level cache."""

from __future__ import annotations

import msgspec
import pytest
from other_machines import NEAR, SLOWER, made_up

from nearfar.documents import WorkloadProfile
from nearfar.options.predict import PredictOptions
from nearfar.options.report import ReportOptions
from nearfar.predict.api import predict
from nearfar.report.api import report
from nearfar.report.data import TOTAL
from nearfar.report.limited_data import BusyServer


def answered(workload: WorkloadProfile) -> tuple[str, BusyServer | None]:
    data = report(ReportOptions(profile=workload, near=NEAR, far=[SLOWER]))
    sentence = next(part.sentence for part in data.answers if part.phase == TOTAL)
    return sentence, data.busy_server


def test_data_that_fit_the_whole_cache_but_not_a_cores_share() -> None:
    sentence, busy = answered(made_up(64 << 20))
    assert busy is not None
    assert busy.cache_bytes == 2 << 20
    options = PredictOptions(
        profile=made_up(64 << 20), near=NEAR, here=NEAR, far=[SLOWER], llc="2MiB"
    )
    expected = predict(options).devices[0].total.slowdown
    assert busy.slowdowns == {"slower": expected}
    assert expected.value > 1.02
    assert "hardly notice" in sentence
    assert sentence.endswith(busy.sentence)
    assert "one core gets 2.00 MiB of the last-level cache instead of 64.0 MiB" in sentence
    assert f"{expected.value:.2f} times ({expected.low:.2f}-{expected.high:.2f})" in sentence


def test_each_busy_thread_has_a_share() -> None:
    workload = made_up(64 << 20)
    phase = workload.phases[0]
    phase = msgspec.structs.replace(phase, near_wall_time_ns=phase.near_cpu_time_ns.value / 2.9)
    sentence, busy = answered(msgspec.structs.replace(workload, phases=[phase]))
    assert busy is not None
    assert busy.cache_bytes == 6 << 20
    assert "3 cores get 6.00 MiB" in sentence


@pytest.mark.parametrize("cache_bytes", [1 << 20, 2 << 20, 3 << 20])
def test_a_cache_of_about_that_size_changes_nothing(cache_bytes: int) -> None:
    sentence, busy = answered(made_up(cache_bytes))
    assert busy is None
    assert "busy server" not in sentence


def test_without_miss_curves_nothing_is_said() -> None:
    bare = msgspec.structs.replace(made_up(64 << 20), curve_bytes=[])
    assert answered(bare)[1] is None


def test_a_part_of_a_program_is_called_so() -> None:
    part = msgspec.structs.replace(made_up(64 << 20), seen_share=0.97)
    assert "its observed part takes" in answered(part)[0]
