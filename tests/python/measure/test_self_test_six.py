"""Six simulated memories, fixed beforehand: what inference says of them holds to the truth."""

from __future__ import annotations

import pytest

from nearfar.measure.self_test import Verdict, self_test, shares, table

BUDGET_S = 25.0
"""CPU seconds a device; most need far less."""

DEVICES = ("optane-100-1dimm", "optane-100-6dimm", "ddr4-2666-local", -1, 100, 104)
"""Two with wear, two without buffers (the library's DRAM, and synthetic -1), two synthetic ones
with caches, buffers and stalls (development seeds)."""


@pytest.fixture(scope="module", params=DEVICES)
def verdicts(request):
    return self_test([request.param], budget=BUDGET_S)


def test_nothing_is_invented(verdicts):
    assert not [one for one in verdicts if one.judged == "invented"], table(verdicts)


def test_nothing_is_wrong(verdicts):
    assert not [one for one in verdicts if one.judged == "wrong"], table(verdicts)


def test_the_table_shows_what_failed_and_counts_devices():
    right = Verdict("a", "capacity of L1", "1 B", "1 B", "", "right")
    unseen = Verdict("b", "ways of L1", "8", "", "", "not seen")
    lost = Verdict("c", "capacity of L1", "1 B", "", "", "not seen")
    wrong = Verdict("d", "ways of L1", "8", "4", "", "wrong")
    counted = shares([right, unseen, lost, wrong])
    assert (counted.devices, counted.sound, counted.complete) == (4, 3, 2)
    text = table([right, unseen, lost, wrong], only_failures=True)
    assert "wrong" in text
    assert "1 B    " in text
    assert "\na " not in text
