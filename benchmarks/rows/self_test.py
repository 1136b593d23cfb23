"""Time of a simulated device's self-test, and its wrong results."""

from __future__ import annotations

from benchmarks import Row, make_row, wall_seconds
from nearfar.measure.self_test import SelfTestVerdict, self_test, table

SECONDS = 10
QUICK = True

DEVICE = "optane-100-1dimm"
"""Two buffers, a queue and wear: the library's device with the most features."""


def rows() -> list[Row]:
    """Infer and judge every quantity of one device."""
    verdicts: list[SelfTestVerdict] = []
    seconds = wall_seconds(lambda: verdicts.extend(self_test([DEVICE])))
    wrong = [each for each in verdicts if not each.sound]
    if wrong:
        print(table(verdicts, only_failures=True))
    command = "ONLY=self_test python -m benchmarks"
    return [
        make_row(
            f"full self-test of one device, model:{DEVICE}, {len(verdicts)} quantities",
            seconds,
            "s",
            bar=60.0,
            peer="none: no other tool infers a memory whose truth is known",
            command=command,
        ),
        make_row(
            "quantities of it that are wrong or invented",
            float(len(wrong)),
            "quantities",
            bar=0.0,
            peer="the simulated device's own parameters",
            command=command,
        ),
    ]
