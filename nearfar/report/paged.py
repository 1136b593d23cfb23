"""The page's table of paged memories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, RunRecord, WorkloadProfile
from nearfar.predict.paged_device import paged_device
from nearfar.predict.paged_table import axis_sentence
from nearfar.report.paged_data import PagedFacts, PagedMeasured

BUDGETS = ("90%", "75%", "60%", "50%", "40%", "25%")


def without_paged(fars: Sequence[DeviceProfile]) -> tuple[list[DeviceProfile], list[DeviceProfile]]:
    """Return (far memories that serve each access directly, paged memories)."""
    paged = [far for far in fars if far.technology == "paged"]
    others = [far for far in fars if far.technology != "paged"]
    if paged and not others:
        raise NearfarError(
            f"the report needs a memory that serves each access, and {paged[0].name} is moved in "
            "pages: name another one too with --far, such as cxl-e3s-x8; the report then has the "
            f"table of {paged[0].name} as well"
        )
    return others, paged


def paged_facts(
    profile: WorkloadProfile, paged: Sequence[DeviceProfile], records: Sequence[RunRecord] = ()
) -> list[PagedFacts]:
    """Return each memory's slowdowns by near budget; `records` are shown with the first memory."""
    if records and not paged:
        raise NearfarError(
            "--record has runs in a paged memory, which the page does not have: name it by --far, "
            "such as --far zram.json"
        )
    facts = []
    for device in paged:
        prediction = paged_device(profile, device, BUDGETS, (), 1)
        if prediction.paged is not None:
            sentence = axis_sentence(prediction.paged)
            facts.append(
                PagedFacts(
                    title=device.title,
                    sentence=sentence,
                    axis=prediction.paged,
                    measured=[
                        measured(profile, device, record)
                        for record in records
                        if device is paged[0]
                    ],
                )
            )
    return facts


def measured(profile: WorkloadProfile, device: DeviceProfile, record: RunRecord) -> PagedMeasured:
    """Return a run at a memory limit with its prediction, for the phases that both have."""
    if record.paged is None:
        raise NearfarError("--record has a run without a limit of memory: use `nearfar run --far`")
    _check_program(profile, record)
    if not record.paged.phases:
        raise NearfarError(
            "--record was written by an earlier nearfar, without times of phases: run it again"
        )
    counted = {row.phase: row for row in record.paged.phases}
    names = [phase.name for phase in profile.phases if phase.name in counted and phase.name != "-"]
    names = names or [phase.name for phase in profile.phases if phase.name in counted]
    near_ns = sum(p.near_cpu_time_ns.value for p in profile.phases if p.name in names)
    if not near_ns:
        raise NearfarError(
            "--record has none of the profile's phases: profile and run the same build"
        )
    size = f"{record.paged.budget_bytes}B"
    try:
        prediction = paged_device(profile, device, [size], names, 1, cliff=False)
    except NearfarError as error:
        # The budgets of the table have checked everything else before.
        limit = format_bytes(record.paged.budget_bytes)
        raise NearfarError(
            f"--record: its limit of {limit} is below what can be predicted: run it with a larger "
            "--near"
        ) from error
    assert prediction.paged is not None
    budget = prediction.paged.budgets[0]
    return PagedMeasured(
        memory=record.memories[-1].spec if record.memories else "",
        near_share=budget.near_share,
        near_bytes=budget.near_bytes,
        slowdown=sum(counted[name].cpu_time_ns for name in names) / near_ns,
        predicted=budget.shown_slowdown(),
        faults=sum(counted[name].major_faults for name in names),
        predicted_faults=budget.faults,
    )


def _check_program(profile: WorkloadProfile, record: RunRecord) -> None:
    """Refuse a run of a program with another name."""
    profiled, ran = (
        Path(command[0]).name if command else ""
        for command in (profile.program.command, record.command)
    )
    if profiled and ran and profiled != ran:
        raise NearfarError(f"--record is a run of {ran}, and the profile is of {profiled}")
