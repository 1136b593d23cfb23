"""Two stages and two locks compared with closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.predict.pipeline import PipelinePart, PipelineTimes, run_pipeline


def constant(generate_s: float, transfer_s: float, analyse_s: float, sets: int) -> PipelineTimes:
    """Run with times of a set that do not depend on other work."""
    seconds = {"generate": generate_s, "transfer": transfer_s, "analyse": analyse_s}
    return run_pipeline(sets, lambda parts: {part: 1.0 / seconds[part] for part in parts})


def test_a_slow_producer_sets_the_pace() -> None:
    result = constant(10.0, 1.0, 2.0, sets=5)
    # Five sets are generated without waits, then the last is transferred and analysed.
    assert result.total == pytest.approx(5 * 10 + 1 + 2)
    assert result.generate_idle == 0.0
    # The consumer waits for the first set, then 10 - 3 before each of the other four.
    assert result.transfer_idle == pytest.approx(10 + 4 * 7)


def test_a_slow_consumer_sets_the_pace() -> None:
    result = constant(2.0, 3.0, 6.0, sets=4)
    assert result.total == pytest.approx(2 + 4 * (3 + 6))
    assert result.transfer_idle == pytest.approx(2)
    # The second set is ready at 4 and taken at the end of the first transfer, at 5; the third is
    # ready at 7, taken at 14; the fourth is ready at 16, taken at 23.
    assert result.generate_idle == pytest.approx(1 + 7 + 7)


def test_a_single_set_passes_all_stages_in_sequence() -> None:
    result = constant(2.0, 3.0, 4.0, sets=1)
    assert result == PipelineTimes(
        total=9.0, generate=2.0, generate_idle=0.0, transfer=3.0, analyse=4.0, transfer_idle=2.0
    )


seconds = st.floats(0.01, 100.0)


@given(seconds, seconds, seconds, st.integers(1, 30))
def test_constant_times_give_the_closed_form(g: float, t: float, a: float, sets: int) -> None:
    result = constant(g, t, a, sets)
    expected = sets * g + t + a if g >= t + a else g + sets * (t + a)
    assert result.total == pytest.approx(expected, rel=1e-6)
    assert result.generate == pytest.approx(sets * g, rel=1e-6)
    assert result.transfer == pytest.approx(sets * t, rel=1e-6)
    assert result.analyse == pytest.approx(sets * a, rel=1e-6)
    consumer = result.transfer + result.analyse + result.transfer_idle
    assert consumer == pytest.approx(result.total, rel=1e-6)


def test_parts_that_share_slow_each_other_down() -> None:
    def halved(parts: frozenset[PipelinePart]) -> dict[PipelinePart, float]:
        return {part: 1.0 / len(parts) for part in parts}

    # Each part takes 1 s alone, 2 s beside another. First generation alone (1); then, while the
    # second set is generated, transfer (both at half speed, both done at 3); then analysis alone,
    # transfer of the second waits for it: 4, 5, 6.
    result = run_pipeline(2, halved)
    assert result.total == pytest.approx(6.0)
    assert result.generate == pytest.approx(1.0 + 2.0)
    assert result.transfer == pytest.approx(2.0 + 1.0)


def test_zero_sets_and_parts_without_progress_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        constant(1.0, 1.0, 1.0, sets=0)
    with pytest.raises(ValueError, match="rate is zero"):
        run_pipeline(1, lambda parts: dict.fromkeys(parts, 0.0))
