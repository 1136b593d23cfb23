"""Two predictions: slowdowns and times by far memory and phase, what each object adds."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.compare.compared_value import Z95, ComparedValue, from_interval
from nearfar.compare.kind import KINDS, ComparableKind, Names
from nearfar.documents import Prediction
from nearfar.documents.prediction import PhasePrediction


@KINDS.register("prediction")
class Predictions(ComparableKind[Prediction]):
    """Of one program: another build, memory, model.

    A prediction's interval says how wrong the model may be, and it is as wrong both times; the
    chance in the difference of two is that of the near times they were made from.
    """

    document = Prediction

    def figures(self, documents: Sequence[Prediction]) -> list[ComparedValue]:
        """Return figures of all far memories."""
        if len(documents) > 1:
            raise NearfarError("of predictions one is compared with one: name two files")
        (prediction,) = documents
        found: list[ComparedValue] = []
        for device in prediction.devices:
            for phase in [*device.phases, device.total]:
                found += _of(device.far, phase)
            whole = device.total.near_time_ns.value
            found += [
                ComparedValue(
                    *("objects", f"{device.far}: {one.name}", "ns", one.added_ns.value),
                    sigma=0.0,
                    whole=whole,
                )
                for one in device.total.objects
            ]
        return found

    def warnings(self, a: Sequence[Prediction], b: Sequence[Prediction], names: Names) -> list[str]:
        """Say what they were made with, where that differs."""
        found = []
        for what in ("near", "model", "host"):
            one, two = (getattr(side[0], what) for side in (a, b))
            if one != two:
                found.append(f"{names.a} has {what} {one!r}, {names.b} {two!r}")
        return found


def _of(far: str, phase: PhasePrediction) -> list[ComparedValue]:
    name = f"{far}, {phase.phase}"
    near = phase.near_time_ns
    relative = from_interval(near, Z95) / near.value if near.value > 0 else 0.0
    time = phase.far_time_ns.value
    return [
        ComparedValue(
            *("slowdown", name, "x", phase.slowdown.value),
            # Added time over near time: it is as uncertain as the near time is.
            sigma=relative * abs(phase.slowdown.value - 1.0),
        ),
        ComparedValue(
            *("time", name, "ns", time),
            sigma=relative * time if relative > 0 else None,
            timed=True,
            note="" if relative > 0 else "its near time has no interval",
        ),
    ]
