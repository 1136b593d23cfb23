"""Lines of a hot part, from the misses that are left in a cache of another size."""

from types import SimpleNamespace

import pytest

from nearfar.place.split_traffic import _hot_shares

WHOLE, HOT = (2.0, 1.5), (1.0, 0.5)
"""Lines of an element alone and in sequence."""


def shares(left: tuple[float, float, float]) -> tuple[float, float]:
    split = SimpleNamespace(lines=lambda _access, part, _visits: WHOLE if part == "whole" else HOT)
    return _hot_shares(split, SimpleNamespace(), "value", 0.0, left)  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [0.0, 0.9, 0.999999, 1.0])
@pytest.mark.parametrize("others", [1.0, 1.000001, 1.2])
def test_a_cache_that_misses_more_than_before_keeps_no_first_touches(
    others: float, first: float
) -> None:
    assert shares((others, 1.0, first)) == (0.0, others * HOT[0] / WHOLE[0])


def test_first_touches_that_the_cache_keeps_are_shared_with_neighbours() -> None:
    assert shares((0.5, 1.0, 0.5)) == (0.0, pytest.approx(0.5 * HOT[1] / WHOLE[1]))
