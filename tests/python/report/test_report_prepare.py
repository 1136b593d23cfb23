"""`prepare` carries numbers over from documents and adds sums."""

from __future__ import annotations

import json

import made_up
import msgspec
import pytest
import samples

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents.device import LoadedLatencyCurve, Source
from nearfar.report.answer import NAMED_SHARE, _whole_sentence, saving
from nearfar.report.api import how_predicted, paragraphs
from nearfar.report.data import TOTAL, ReportData
from nearfar.report.memories import idle_latency_ns, latency_at
from nearfar.report.prepare import prepare
from nearfar.report.render import embedded_json, render, to_json


@pytest.fixture(scope="module")
def data() -> ReportData:
    return made_up.data()


def test_total_sums_the_phases(data: ReportData) -> None:
    total = next(phase for phase in data.phases if phase.name == TOTAL)
    parts = [phase for phase in data.phases if phase.name != TOTAL]
    assert total.near_cpu_time_ns.value == pytest.approx(
        sum(phase.near_cpu_time_ns.value for phase in parts)
    )
    for name in ("chase", "indirect", "stream", "opaque", "write_backs", "accesses"):
        column = getattr(total, name)
        for number, value in enumerate(column):
            summed = sum(getattr(phase, name)[number] for phase in parts)
            assert value == pytest.approx(summed, rel=1e-4)


def test_the_slowest_memory_is_shown_first(data: ReportData) -> None:
    slow = {e.memory: e.slowdown.value for e in data.effects if e.phase == TOTAL}
    assert data.first_memory == max(slow, key=lambda name: slow[name])


def test_ids_need_not_be_positions() -> None:
    profile = samples.workload(objects=5)
    made = made_up.data(profile)
    moved = samples.workload(objects=5)
    moved.objects.reverse()
    turned = made_up.data(moved)
    by_id = {each.id: made.effects[0].added_ns[n] for n, each in enumerate(made.objects)}
    for number, each in enumerate(turned.objects):
        assert turned.effects[0].added_ns[number] == by_id[each.id]


def test_answer_rows_are_those_of_the_plans(data: ReportData) -> None:
    for answer in data.answers:
        for row in answer.memories:
            plans = [c for c in data.choices if (c.memory, c.phase) == (row.memory, answer.phase)]
            assert [s.slowdown for s in row.savings] == [c.plan.slowdown for c in plans]
            assert f"{row.slowdown.low:.2f}" in row.sentence
        assert "store takes" in answer.sentence


def test_only_objects_that_save_time_are_named(data: ReportData) -> None:
    choice = max(data.choices, key=lambda each: len(each.near))
    (effect,) = (
        each for each in data.effects if (each.memory, each.phase) == (choice.memory, choice.phase)
    )
    first, second, *others = choice.near
    added = [(0.0, 0.0, 0.0)] * len(data.objects)
    for number in others:
        added[number] = (1.0, 1.0, 1.0)
    added[first] = added[second] = (1000.0, 1000.0, 1000.0)
    effect = msgspec.structs.replace(effect, added_ns=added)
    named = saving(choice, effect, data.objects).names
    assert named == [data.objects[number].short for number in (first, second)]
    added[first] = (2001 * NAMED_SHARE / (1 - NAMED_SHARE), 0.0, 0.0)
    assert saving(choice, effect, data.objects).names == named[:1]


def test_an_unknown_phase_is_refused() -> None:
    with pytest.raises(NearfarError, match="the profile has no phase 'set'; did you mean"):
        made_up.data(first_phase="set")


def test_an_insensitive_program_is_reported_as_such() -> None:
    profile = samples.workload(objects=3)
    for phase in profile.phases:
        phase.near_cpu_time_ns = Estimate(1e15, 1e15, 1e15)
    assert "would hardly notice far memory" in made_up.data(profile).answers[0].sentence


def test_an_answer_about_a_part_of_the_program_says_so_first() -> None:
    profile = samples.workload(objects=3)
    profile.seen_share = 0.02
    sentence = made_up.data(profile).answers[0].sentence
    assert sentence.startswith("The start of store (")
    assert ", 2% of its CPU time) " in sentence
    # The sentence must not end as if the whole program were as little slower as its start.
    rows = made_up.data(profile).answers[0].memories
    low, high = min(row.slowdown.low for row in rows), max(row.slowdown.high for row in rows)
    assert sentence.endswith(
        f" With all its data far, all of store takes {low:.2f} to {high:.2f} times its CPU time, "
        "depending on the memory."
    )
    # The interval of a phase is not the program's.
    phases = made_up.data(profile).answers[1:]
    assert phases and not any("all of store" in answer.sentence for answer in phases)
    # Nobody knows the whole time of a program that was stopped without an observer too.
    profile.seen_share_at_most = True
    assert ", at most 2% of its CPU time) " in made_up.data(profile).answers[0].sentence


def test_memories_faster_than_near_memory_are_left_out_of_the_range(data: ReportData) -> None:
    slow, other = data.answers[0].memories[:2]
    fast = msgspec.structs.replace(other, faster=True, slowdown=Estimate(0.5, 0.4, 0.6))
    low, high = slow.slowdown.low, slow.slowdown.high
    assert _whole_sentence("store", [slow, fast]) == (
        f"With all its data on {slow.title}, all of store takes between {low:.2f} and {high:.2f} "
        "times its CPU time."
    )


def test_a_program_that_was_not_observed_has_a_range_and_no_number() -> None:
    profile = samples.workload(objects=3)
    for phase in profile.phases:
        phase.objects, phase.instructions = [], []
    profile.uncounted_share = 1.0
    answer = made_up.data(profile).answers[0]
    ends = [row.slowdown for row in answer.memories]
    low, high = min(end.low for end in ends), max(end.high for end in ends)
    assert f"takes between {low:.2f} and {high:.2f} times the CPU time" in answer.sentence
    assert all("no access was observed" in row.sentence for row in answer.memories)
    assert "nothing waits for memory" not in " ".join(made_up.data(profile).method.caveats)


def test_a_single_object_that_fits_no_budget_is_reported() -> None:
    profile = samples.workload(objects=3)
    profile.objects[1].size_bytes = 3 << 30
    for phase in profile.phases:
        for row in phase.objects:
            row.traffic.read_misses.chase = 1e7 if row.object == 1 else 0.0
    answer = made_up.data(profile).answers[0]
    assert "One object of 3.00\u00a0GiB (make_1 store.c:101" in answer.sentence
    assert "does not fit" in answer.sentence
    assert "No few objects" not in answer.sentence


def test_rounding_differences_save_nothing() -> None:
    made = made_up.data()
    effect, choice = made.effects[0], made.choices[0]
    choice.plan.time_ns = Estimate(effect.far_time_ns.value * (1 + 1e-15), 0.0, 1e20)
    assert saving(choice, effect, made.objects).saved_ns == 0.0


@pytest.mark.parametrize(
    ("far_ns", "came", "said"),
    [
        (243.0, "added", "174 + 69 ns: near here plus what it added over its own host's DRAM"),
        (348.0, "ratio", "174 × 2.00 ns: near here times its ratio to its own host's DRAM"),
        (87.0, "added", "174 × 0.50 ns: near here times its ratio to its own host's DRAM"),
        (300.0, "published", "300 ns, as published: its host's DRAM is not known or is this"),
        (300.0, "measured", "300 ns, measured here"),
    ],
)
def test_the_latency_states_its_origin(far_ns: float, came: str, said: str) -> None:
    profile, (near, fars) = samples.workload(), made_up.devices()
    made = made_up.prediction(profile, near, fars[:2])
    made.near_latency_ns = 174.0
    made.devices[0].latency_ns, made.devices[0].latency_from = far_ns, came  # type: ignore
    made.devices[1].latency_ns, made.devices[1].latency_from = 500.0, "measured"
    page = prepare(profile, near, fars[:2], made, [])
    fact = next(memory for memory in page.memories if memory.name == fars[0].name)
    assert fact.latency_taken.startswith(said)
    assert fact.faster == (far_ns < 174.0)
    # It is apart: after the others, and outside of the headline's range.
    assert [row.faster for row in page.answers[0].memories] == [False, fact.faster]
    html = render(page)
    assert html.count("Faster than near memory here</h3>") == (
        len(page.answers) if fact.faster else 0
    )
    assert said.split(":", maxsplit=1)[0] in html


def test_the_working_point_lies_on_the_curve() -> None:
    curve = LoadedLatencyCurve(
        read_share=1.0,
        points=[(1.0, 100.0), (5.0, 120.0), (9.0, 200.0), (8.0, 400.0)],
        how="measured",
        source="here",
    )
    assert latency_at(curve, 0.5) == (100.0, False)
    assert latency_at(curve, 5.0) == (120.0, False)
    assert latency_at(curve, 7.0) == (160.0, False)
    assert latency_at(curve, 9.0) == (200.0, False)
    assert latency_at(curve, 9.1) == (200.0, True)


def test_idle_latency_is_that_of_the_largest_region() -> None:
    device = samples.device(latency_ns=90.0)
    assert idle_latency_ns(device) == 90.0
    device.latency = []
    assert idle_latency_ns(device) is None


def test_embedding_changes_no_value(data: ReportData) -> None:
    text = embedded_json(data)
    assert json.loads(text) == json.loads(to_json(data))
    assert not set("<>&\u2028\u2029") & set(text)


def test_the_method_is_the_models_own_text() -> None:
    text = how_predicted("inversion")
    assert any("chains curve" in paragraph for paragraph in text)
    assert any(paragraph.startswith("- ") for paragraph in text)
    assert paragraphs("One\ntwo.\n\n- a\n  b\n- c\n") == ["One two.", "- a b", "- c"]


def test_a_source_states_its_figures_only_if_it_has_any() -> None:
    profile, (near, fars) = samples.workload(), made_up.devices()
    fars[0].sources["notes"] = Source(citation="Notes of the maker", where="page 2")
    made = made_up.prediction(profile, near, fars[:1])
    page = render(prepare(profile, near, fars[:1], made, []))
    _, _, of_notes = page.partition("Notes of the maker; page 2")
    assert of_notes.startswith("<br>")
    assert '/samples.py <span class="quiet">(12 measured)</span><br>' in page
