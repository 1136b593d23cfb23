"""The sentence on a server whose other programs take most of the cache."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
import samples
from other_machines import NEAR, SLOWER, made_up

from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.bursts import Bursts
from nearfar.documents.profiled_run import CoreModel
from nearfar.options.predict import PredictOptions
from nearfar.options.report import ReportOptions
from nearfar.predict.api import predict
from nearfar.report.answer import opening_sentences
from nearfar.report.api import report
from nearfar.report.data import BusyServer
from nearfar.report.render import render

FITS = 64 << 20
"""A cache that holds all data of `made_up`."""


def answered(
    workload: WorkloadProfile, fars: Sequence[DeviceProfile] = (SLOWER,)
) -> tuple[str, BusyServer | None]:
    data = report(ReportOptions(profile=workload, near=NEAR, far=list(fars)))
    page = render(data)
    if data.busy_server is not None:
        assert f'<p class="answer-busy">{data.busy_server.sentence}</p>' in page
    assert ('answer-busy">' in page) == (data.busy_server is not None)
    return " ".join(opening_sentences(data)), data.busy_server


def test_data_that_fit_the_whole_cache_but_not_a_cores_share() -> None:
    sentence, busy = answered(made_up(FITS))
    assert busy is not None
    assert busy.cache_bytes == 2 << 20
    options = PredictOptions(profile=made_up(FITS), near=NEAR, here=NEAR, far=[SLOWER], llc="2MiB")
    expected = predict(options).devices[0].total.slowdown
    assert busy.slowdowns == {"slower": expected}
    assert expected.value > 1.02
    assert "hardly notice" in sentence
    assert sentence.endswith(busy.sentence)
    assert "about 2.00 MiB of cache instead of 64.0 MiB" in sentence
    assert f"{expected.value:.2f} times ({expected.low:.2f}-{expected.high:.2f})" in sentence
    assert f"on {SLOWER.title}." in sentence


def test_each_busy_thread_has_a_share_and_its_private_cache() -> None:
    workload = made_up(FITS)
    phase = workload.phases[0]
    phase = msgspec.structs.replace(phase, near_wall_time_ns=phase.near_cpu_time_ns.value / 2.9)
    core = CoreModel(private_bytes=1 << 20, tlb_entries=0, tlb_origin="assumed")
    _, busy = answered(msgspec.structs.replace(workload, phases=[phase], core=core))
    assert busy is not None
    assert busy.cache_bytes == 3 * (3 << 20)


def test_the_memory_that_suffers_most_is_named() -> None:
    slowest = samples.device("slowest", 400.0, 10.0)
    sentence, busy = answered(made_up(FITS), [SLOWER, slowest, samples.device("like near")])
    assert busy is not None
    assert set(busy.slowdowns) == {"slower", "slowest", "like near"}
    assert f"{busy.slowdowns['slowest'].value:.2f} times" in sentence
    assert sentence.endswith(f"on {slowest.title}.")


def test_a_memory_like_near_memory_does_not_suffer() -> None:
    assert answered(made_up(FITS), [samples.device("like near", 100.0, 20.0)])[1] is None


@pytest.mark.parametrize("cache_bytes", [1 << 20, 2 << 20, 3 << 20])
def test_a_cache_of_about_that_size_changes_nothing(cache_bytes: int) -> None:
    sentence, busy = answered(made_up(cache_bytes))
    assert busy is None
    assert "other programs" not in sentence


def test_another_model_without_bursts_is_no_reason() -> None:
    bursts = Bursts(code=[], blocks=[], accesses=[], phases=[])
    workload = msgspec.structs.replace(made_up(3 << 20), bursts=bursts)
    assert answered(workload)[1] is None
    assert answered(msgspec.structs.replace(made_up(FITS), bursts=bursts))[1] is not None


def test_without_miss_curves_nothing_is_said() -> None:
    bare = msgspec.structs.replace(made_up(FITS), curve_bytes=[])
    assert answered(bare)[1] is None


def test_a_cache_that_the_user_chose_is_not_questioned() -> None:
    workload = made_up(FITS)
    cache = msgspec.structs.replace(workload.cache, origin="--llc 64MiB")
    assert answered(msgspec.structs.replace(workload, cache=cache))[1] is None


def test_the_answer_for_an_observed_part_is_left_alone() -> None:
    part = msgspec.structs.replace(made_up(FITS), seen_share=0.97)
    assert answered(part)[1] is None
