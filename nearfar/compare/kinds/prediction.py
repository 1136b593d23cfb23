"""Two predictions: slowdowns and times by far memory and phase, and added time by object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.compare.kind import KINDS, Z95, ComparableKind, ComparedValue, SideNames, from_interval
from nearfar.documents import Prediction
from nearfar.documents.attribution import Attribution
from nearfar.documents.prediction import PhasePrediction
from nearfar.predict.attribution import attributions, unattributed
from nearfar.predict.inputs import load_inputs


@KINDS.register("prediction")
class Predictions(ComparableKind[Prediction]):
    """Predictions of one program with another build, memory or model.

    A prediction's interval is the error of the model, which both predictions share. So only the
    near times, from which predictions are made, give their difference a random error.
    """

    document = Prediction

    def values(self, documents: Sequence[Prediction]) -> list[ComparedValue]:
        """Return the values of all far memories."""
        if len(documents) > 1:
            raise NearfarError("a prediction is compared with one prediction: name two files")
        (prediction,) = documents
        values: list[ComparedValue] = []
        for device in prediction.devices:
            for phase in [*device.phases, device.total]:
                values += _of(device.far, phase)
            total = device.total.near_time_ns.value
            values += [
                ComparedValue(
                    *("objects", f"{device.far}: {item.name}", "ns", item.added_ns.value),
                    sigma=0.0,
                    total=total,
                )
                for item in device.total.objects
            ]
        return values

    def warnings(
        self, a: Sequence[Prediction], b: Sequence[Prediction], names: SideNames
    ) -> list[str]:
        """Warn of predictions made with different inputs."""
        warnings = []
        for what in ("near", "model", "host"):
            first, second = (getattr(side[0], what) for side in (a, b))
            if first != second:
                warnings.append(f"{names.a} has {what} {first!r}, {names.b} {second!r}")
        return warnings

    def attributions(
        self, a: Sequence[Prediction], b: Sequence[Prediction], names: SideNames
    ) -> tuple[list[Attribution], list[str]]:
        """Return which inputs make the slowdowns differ, by exchanging the inputs in turn."""
        totals = [
            {device.far: device.total.slowdown for device in side[0].devices} for side in (a, b)
        ]
        pairs = {far: (totals[0][far], totals[1][far]) for far in totals[0] if far in totals[1]}
        name = names.a
        try:
            sides = [load_inputs(a[0], Path(name).parent)]
            name = names.b
            sides.append(load_inputs(b[0], Path(name).parent))
            return attributions(sides[0], sides[1], pairs), []
        except NearfarError as error:
            unknown = [unattributed(far, *slowdowns) for far, slowdowns in pairs.items()]
            return unknown, [f"which inputs make the difference is not known for {name}: {error}"]


def _of(far: str, phase: PhasePrediction) -> list[ComparedValue]:
    name = f"{far}, {phase.phase}"
    near = phase.near_time_ns
    relative = from_interval(near, Z95) / near.value if near.value > 0 else 0.0
    time = phase.far_time_ns.value
    return [
        ComparedValue(
            *("slowdown", name, "x", phase.slowdown.value),
            # Slowdown - 1 is added time over near time: near time determines its relative error.
            sigma=relative * abs(phase.slowdown.value - 1.0),
        ),
        ComparedValue(
            *("time", name, "ns", time),
            sigma=relative * time if relative > 0 else None,
            timed=True,
            note="" if relative > 0 else "its near time has no interval",
        ),
    ]
