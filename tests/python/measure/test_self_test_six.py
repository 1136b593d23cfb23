"""Six simulated memories, fixed beforehand: the inference agrees with their true values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nearfar.measure.infer import Findings
from nearfar.measure.self_test import SelfTestVerdict, judge, open_device, self_test, shares, table

BUDGET_S = 25.0
"""CPU seconds per device; most need far less."""

DEVICES = (
    "optane-100-1dimm",
    "optane-100-6dimm",
    "ddr4-2666-local",
    -1,
    100,
    pytest.param(104, marks=pytest.mark.long),
)
"""Two with wear, two without buffers (the library's DRAM, and synthetic -1), two synthetic ones
with caches, buffers and stalls (development seeds)."""


@pytest.fixture(scope="module", params=DEVICES)
def verdicts(request):
    return self_test([request.param], budget=BUDGET_S)


MUST_BE_SEEN = {
    "optane-100-1dimm": {
        "capacity of read-modify-write buffer",
        "block of read-modify-write buffer",
        "latency of read-modify-write buffer",
        "capacity of address indirection table",
        "latency of address indirection table",
        "write queue",
        "wear period",
        "wear length",
        "wear block",
    },
    "optane-100-6dimm": {"interleave", "wear period", "wear length"},
    "synthetic-dram--1": {"capacity of L1", "latency of L1"},
}
"""Quantities that these devices show clearly: "not seen" is a failure here."""


def unseen(verdicts: Sequence[SelfTestVerdict]) -> set[str]:
    """Return the required quantities of these devices that were missing or wrong."""
    must = set().union(*(MUST_BE_SEEN.get(each.device, set()) for each in verdicts))
    return must - {each.quantity for each in verdicts if each.judged == "right"}


def test_required_quantities_are_found(verdicts):
    assert not unseen(verdicts), table(verdicts)


@pytest.mark.parametrize("device", ["optane-100-1dimm", "optane-100-6dimm", -1])
def test_an_inference_that_finds_nothing_does_not_pass(device):
    name, subject = open_device(device)
    assert unseen(judge(name, subject, Findings())) == MUST_BE_SEEN[name]


def test_nothing_is_invented(verdicts):
    assert not [each for each in verdicts if each.judged == "invented"], table(verdicts)


def test_nothing_is_wrong(verdicts):
    assert not [each for each in verdicts if each.judged == "wrong"], table(verdicts)


def test_the_table_shows_what_failed_and_counts_devices():
    right = SelfTestVerdict("a", "capacity of L1", "1 B", "1 B", "", "right")
    unseen = SelfTestVerdict("b", "ways of L1", "8", "", "", "not seen")
    lost = SelfTestVerdict("c", "capacity of L1", "1 B", "", "", "not seen")
    wrong = SelfTestVerdict("d", "ways of L1", "8", "4", "", "wrong")
    counted = shares([right, unseen, lost, wrong])
    assert (counted.devices, counted.sound, counted.complete) == (4, 3, 2)
    text = table([right, unseen, lost, wrong], only_failures=True)
    assert "wrong" in text
    assert "1 B    " in text
    assert "\na " not in text
