"""Predictions of memory that is moved in pages, from page curves that are known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import samples
from msgspec.structs import replace

from nearfar.__main__ import main
from nearfar.api import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile, save
from nearfar.documents.device import FaultFigure, PagedMemory
from nearfar.documents.prediction import DevicePrediction, PagedBudget
from nearfar.documents.workload import PageCurve
from nearfar.predict.paged import PageCosts, paged_phases
from nearfar.predict.paged_device import paged_device

PAGES, TOUCHES, FAULT_NS = 65536, 655360.0, 10_000.0
SIZES = np.array([64 * 2 ** (step / 16) for step in range(162)])
"""Pages: 16 sizes per factor of 2, up to 1.07 times the program's memory."""


def profile(faults: object, written: object = None, **phase: float) -> WorkloadProfile:
    """Return a profile of one object whose pages fault so at `SIZES`."""
    workload = samples.workload()
    counted = np.broadcast_to(np.asarray(faults, dtype=float), SIZES.shape)
    times = np.zeros(20)
    times[15] = TOUCHES  # 65,536 to 98,304 touches in between: a distance of all pages
    curve = PageCurve(
        first=float(PAGES),
        faults=counted.tolist(),
        written=(counted if written is None else np.asarray(written, dtype=float)).tolist(),
        times=times.tolist(),
        compressed_share=0.5,
    )
    first = workload.phases[0]
    row = replace(first.objects[0], page_curve=curve)
    return replace(
        workload,
        page_curve_bytes=(SIZES * 4096).tolist(),
        phases=[replace(first, objects=[row])],
    )


UNIFORM = TOUCHES * np.clip(1 - SIZES / PAGES, 0, 1)
LOOP = np.where(SIZES < PAGES, TOUCHES, 0.0)


def zram(*figures: FaultFigure) -> DeviceProfile:
    """Return a memory with the time of an exchange, unless `figures` says otherwise."""
    exchange = FaultFigure(how="measured", source="guide", event="exchange", value_ns=FAULT_NS)
    return replace(
        load_device("swap-nvme"),
        name="here",
        paged=PagedMemory(backing="zram", in_dram=True),
        faults=list(figures) or [exchange],
        bandwidth=[],
    )


def predicted(workload: WorkloadProfile, far: DeviceProfile, *budgets: str) -> DevicePrediction:
    (device,) = predict(
        profile=workload, near=samples.device(), far=[far], near_budget=budgets
    ).devices
    return device


def at(device: DevicePrediction, place: int = 0) -> PagedBudget:
    assert device.paged is not None
    return device.paged.budgets[place]


def test_a_phase_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(NearfarError, match="the profile has no phase 'run'"):
        paged_device(profile(LOOP), zram(), ["50%"], ["run"], 1)


def test_random_touches_fault_in_proportion_to_what_is_far():
    device = predicted(profile(UNIFORM), zram(), "75%,50%", "25%")
    near_ns = device.total.near_time_ns.value
    for place, share in enumerate((0.75, 0.5, 0.25)):
        budget = at(device, place)
        assert budget.near_share == pytest.approx(share)
        assert budget.faults.value == pytest.approx(TOUCHES * (1 - share), rel=0.01)
        assert budget.faults.low < budget.faults.value < budget.faults.high
        added = budget.time_ns.value - near_ns
        assert added == pytest.approx(budget.faults.value * FAULT_NS, rel=0.01)
    assert device.total.far_time_ns == at(device).time_ns


def test_a_run_varies_as_near_time_does_and_the_predicted_part_does_not():
    workload = profile(UNIFORM)
    (phase,) = workload.phases
    near_ns = phase.near_cpu_time_ns.value
    measured = Estimate(near_ns, 0.9 * near_ns, 1.2 * near_ns)
    row, on_another_machine = (
        at(
            predicted(
                replace(
                    workload,
                    phases=[replace(phase, near_cpu_time_ns=measured, near_repetitions=count)],
                ),
                zram(),
                "90%",
            )
        )
        for count in (3, 0)
    )
    assert row.run_slowdown is not None
    assert row.run_slowdown.value == row.slowdown.value
    assert row.slowdown.low - row.run_slowdown.low == pytest.approx(0.1)
    assert row.run_slowdown.high - row.slowdown.high == pytest.approx(0.2)
    assert row.slowdown == on_another_machine.slowdown == on_another_machine.run_slowdown


def test_a_loop_faults_everywhere_below_its_size_and_its_interval_reaches_to_a_random_choice():
    device = predicted(profile(LOOP), zram(), "90%", "2GiB")
    assert at(device).faults.value == pytest.approx(TOUCHES)
    # m = 1 - exp(-m / 0.9) at the middle of the bucket of touches in between, 1.2 times the pages.
    assert 0.1 < at(device).faults.low / TOUCHES < 0.6
    assert at(device, 1).faults.value == 0.0
    assert at(device, 1).slowdown.value == pytest.approx(1.0)
    assert device.paged is not None
    cliff = device.paged.cliff_share
    assert cliff is not None
    assert 0.9 < cliff.value <= 1.0


def test_time_doubles_where_added_time_is_near_time():
    workload = profile(UNIFORM)
    device = predicted(workload, zram())
    share = 1 - device.total.near_time_ns.value / (TOUCHES * FAULT_NS)
    assert device.paged is not None
    cliff = device.paged.cliff_share
    assert cliff is not None
    assert cliff.value == pytest.approx(share, abs=0.01)
    assert cliff.low < share < cliff.high


def test_clean_pages_are_not_written_where_their_copies_stay():
    figures = [
        FaultFigure(how="measured", source="guide", value_ns=FAULT_NS),
        FaultFigure(
            how="measured", source="guide", event="evict", operation="write", value_ns=4 * FAULT_NS
        ),
    ]
    clean = profile(UNIFORM, np.zeros_like(UNIFORM))
    keeps = replace(zram(*figures), paged=PagedMemory(backing="disk"))
    kept, lost = at(predicted(clean, keeps, "50%")), at(predicted(clean, zram(*figures), "50%"))
    assert kept.evicted == lost.evicted == pytest.approx(kept.faults.value + PAGES / 2, rel=0.01)
    assert kept.written == pytest.approx(PAGES / 2, rel=0.01)  # each page once
    assert lost.written == lost.evicted
    assert lost.time_ns.value > 2 * kept.time_ns.value


def test_touches_that_half_of_the_near_memory_would_lose_make_exchanges_longer():
    again = FaultFigure(
        how="measured", source="guide", event="exchange", value_ns=2 * FAULT_NS, retouches=0.5
    )
    plain = zram().faults[0]
    # 0.5 N near: N/4 of the touches are of pages that a quarter would lose, N/2 fault.
    searched = at(predicted(profile(UNIFORM), zram(plain, again), "50%"))
    alone = at(predicted(profile(UNIFORM), zram(plain), "50%"))
    assert searched.faults.value == alone.faults.value
    moved = TOUCHES / 2 + PAGES / 2
    expected = 1 + np.log1p(TOUCHES / 4 / moved) / np.log1p(0.5)
    near_ns = alone.time_ns.value - TOUCHES / 2 * FAULT_NS
    assert (searched.time_ns.value - near_ns) / (TOUCHES / 2 * FAULT_NS) == pytest.approx(
        expected, rel=0.02
    )
    # Hot pages that fit on the active list cost nothing: a loop beside them.
    loop = at(predicted(profile(LOOP), zram(plain, again), "50%"))
    assert loop.time_ns.value == at(predicted(profile(LOOP), zram(plain), "50%")).time_ns.value


def test_pages_that_are_stored_to_cost_more_and_most_where_a_program_is_moved_between_cpus():
    plain = zram().faults[0]
    stores = [
        replace(plain, operation="write", value_ns=1.5 * FAULT_NS),
        replace(plain, operation="write", value_ns=3 * FAULT_NS, threads=2),
    ]
    half = at(predicted(profile(LOOP, LOOP / 2), zram(plain, *stores), "50%"))
    near_ns = predicted(profile(LOOP), zram()).total.near_time_ns.value
    assert half.time_ns.value - near_ns == pytest.approx(1.25 * TOUCHES * FAULT_NS)
    assert half.time_ns.high - near_ns > 2 * TOUCHES * FAULT_NS
    none = at(predicted(profile(LOOP, 0 * LOOP), zram(plain, *stores), "50%"))
    assert none.time_ns.value - near_ns == pytest.approx(TOUCHES * FAULT_NS)


def test_a_page_that_goes_for_a_new_one_takes_an_exchange_without_the_fault():
    plain = zram().faults[0]
    came = replace(plain, event="fault", value_ns=FAULT_NS / 4)
    sent = replace(plain, event="evict", operation="write", value_ns=FAULT_NS / 10)
    write = replace(plain, operation="write", value_ns=2 * FAULT_NS)
    device = zram(plain, came, sent, write)
    new = profile(0 * LOOP)
    budget = at(predicted(new, device, "75%"))
    added = budget.time_ns.value - predicted(new, device).total.near_time_ns.value
    assert budget.faults.value == 0.0
    assert added == pytest.approx(PAGES / 4 * (2 * FAULT_NS - FAULT_NS / 4))


def test_an_uncertain_fault_widens_the_time_of_a_page_that_goes_for_a_new_one():
    drive = PagedMemory(backing="disk")
    sure = replace(zram().faults[0], low_ns=0.99 * FAULT_NS, high_ns=1.01 * FAULT_NS)
    came = replace(sure, event="fault", value_ns=FAULT_NS / 2, low_ns=0.0, high_ns=0.9 * FAULT_NS)
    memory = replace(zram(sure, came), paged=drive)
    (phase,) = paged_phases(profile(LOOP))
    value, low, high, moved = PageCosts(memory, phase).evict()
    assert value == moved == pytest.approx(FAULT_NS / 2)
    assert low == pytest.approx(0.11 * FAULT_NS)
    assert high == pytest.approx(0.99 * FAULT_NS)


def test_an_interval_holds_other_data_of_the_same_compressed_size():
    plain = replace(zram().faults[0], low_ns=FAULT_NS, high_ns=FAULT_NS)
    memory = zram(plain)
    near_ns = predicted(profile(LOOP), memory).total.near_time_ns.value
    time = at(predicted(profile(LOOP), memory, "50%")).time_ns
    assert time.high - near_ns >= 1.3 * (time.value - near_ns)
    drive = replace(memory, paged=PagedMemory(backing="disk"))
    kept = at(predicted(profile(LOOP), drive, "50%")).time_ns
    assert kept.value == time.value
    assert kept.high < time.high


def test_a_drive_is_limited_by_its_bandwidth():
    drive = load_device("swap-nvme")
    slow = replace(
        drive,
        bandwidth=[replace(row, value_gb_per_s=0.001) for row in drive.bandwidth],
    )
    budget = at(predicted(profile(UNIFORM), slow, "50%"))
    assert budget.bound == "bandwidth"
    assert budget.time_ns.value > 2 * at(predicted(profile(UNIFORM), drive, "50%")).time_ns.value


@pytest.mark.parametrize(
    ("workload", "far", "budget", "message"),
    [
        (samples.workload(), zram(), "50%", "has no page curves"),
        (profile(UNIFORM), zram(), "100KiB", "no program runs in less"),
        (profile(UNIFORM), zram(), "-1", "negative"),
        (profile(UNIFORM), samples.device("far", 300, 5, 3), "50%", "--near-budget is for"),
    ],
)
def test_what_cannot_be_predicted_is_refused_in_one_sentence(
    workload: WorkloadProfile, far: DeviceProfile, budget: str, message: str
):
    with pytest.raises(NearfarError, match=message):
        predicted(workload, far, budget)


def test_the_table_has_the_budgets_and_the_cliff(tmp_path: Path, capsys):
    save(profile(UNIFORM), tmp_path / "run.json")
    save(samples.device(), tmp_path / "near.json")
    save(zram(), tmp_path / "zram.json")
    command = ["predict", str(tmp_path / "run.json"), "--near", str(tmp_path / "near.json")]
    options = ["--far", str(tmp_path / "zram.json"), "--near-budget", "60%,40%"]
    assert main([*command, *options]) == ExitCode.DONE
    shown = capsys.readouterr().out
    for word in ("60%", "40%", "256 MiB of memory", "time doubles at", "proportion"):
        assert word in " ".join(shown.split())


def test_where_intervals_were_compared_with_measured_times_a_share_of_the_deviations_counts():
    (phase,) = paged_phases(profile(LOOP))
    known = dataclasses.replace(phase, compression_work=2000.0)
    exchange = replace(zram().faults[0], compression_work=2000.0)
    memory = zram(exchange)
    assert PageCosts(memory, known).calibrated
    assert not PageCosts(memory, phase).calibrated
    assert not PageCosts(replace(memory, paged=PagedMemory(backing="disk")), known).calibrated
    workload = profile(LOOP)
    (row,) = workload.phases[0].objects
    assert row.page_curve is not None
    curve = replace(row.page_curve, compression_work=2000.0, compressed_share=0.5)
    phases = [replace(workload.phases[0], objects=[replace(row, page_curve=curve)])]
    narrow = at(predicted(replace(workload, phases=phases), memory, "50%"))
    wide = at(predicted(workload, zram(replace(exchange, compression_work=None)), "50%"))
    assert narrow.faults.value == wide.faults.value
    assert narrow.time_ns.value == wide.time_ns.value
    assert wide.faults.low < narrow.faults.low < narrow.faults.value
    assert wide.time_ns.low < narrow.time_ns.low < narrow.time_ns.value
    assert narrow.time_ns.value < narrow.time_ns.high < wide.time_ns.high
