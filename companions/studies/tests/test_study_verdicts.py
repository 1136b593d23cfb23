"""Verdicts follow the numbers: other rows, other sentences."""

from __future__ import annotations

from nearfar_studies.compare import row, table
from nearfar_studies.studies import intset_slowdowns, x_mem_curve


def test_x_mem_curve_says_on_which_side_of_the_published_range_ours_lies() -> None:
    def verdict(guided: float, blind: float) -> str:
        rows = {
            share: row(f"{share:.0%}", None, guided, rivals={"page-interleaved": blind})
            for share in x_mem_curve.SHARES
        }
        return "\n".join(x_mem_curve._verdict("program", rows))

    assert "below the published" in verdict(1.05, 1.3)
    assert "inside the published" in verdict(1.2, 1.3)
    assert "above the published" in verdict(1.9, 2.3)
    assert "0.40 more" in verdict(1.9, 2.3)
    assert "no slower" in verdict(1.9, 1.9)


def test_intset_says_how_much_of_the_slowdown_is_persisting() -> None:
    def verdict(ours: float, dram: float) -> str:
        rows = [
            row(name, 4.0, ours, interval=(ours, ours), rivals={"persisting in DRAM": dram})
            for name in ("list", "hash", "mean")
        ]
        made = table("slowdown", "figure 5", "slowdown", rows)
        return "\n".join(intset_slowdowns._verdict(made, [ours]))

    assert "most of the predicted slowdown" in verdict(4.0, 3.5)
    assert "less than half of the predicted slowdown" in verdict(4.0, 1.2)
    assert "above the published" in verdict(5.0, 2.0)
    assert "below the published" in verdict(3.0, 2.0)
    assert "0 of 3 published values" in verdict(3.0, 2.0)
    assert "3 of 3 published values" in verdict(4.0, 2.0)
