"""Parsing and printing of sizes and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes, format_count, format_ns, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("2GiB", 2 << 30), ("2 GB", 2 * 10**9), ("1.5MiB", 3 << 19), ("64kB", 64000), ("7B", 7)],
)
def test_binary_and_decimal_units_differ(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "2", "2G", "-1GiB", "1e9B", "GiB", "2gib", "nan GB"])
def test_a_missing_or_ambiguous_unit_is_refused(text: str) -> None:
    with pytest.raises(NearfarError, match="cannot read the size"):
        parse_size_bytes(text)


@given(st.integers(min_value=0, max_value=1 << 60))
def test_bytes_are_shown_to_three_digits(size_bytes: int) -> None:
    shown = parse_size_bytes(format_bytes(size_bytes))
    assert abs(shown - size_bytes) <= 0.006 * size_bytes


def test_times_choose_their_unit() -> None:
    assert format_ns(312) == "312 ns"
    assert format_ns(1.25e6) == "1.25 ms"
    assert format_ns(3.1e9) == "3.1 s"


def test_counts_have_the_singular_for_one_only() -> None:
    assert [format_count(n, "file") for n in (0, 1, 2500)] == ["0 files", "1 file", "2,500 files"]
