"""``[[predict]]``: a program with all its data in a far memory, as `nearfar predict` does."""

from __future__ import annotations

import json
from typing import ClassVar

from nearfar.documents.prediction import HostRule
from nearfar.options.predict import PredictOptions
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS
from nearfar.points.profiled import ProfiledPoint
from nearfar.points.row import PointValues
from nearfar.predict.api import predict
from nearfar.predict.device_figures import parse_page_bytes
from nearfar.predict.model import DEFAULT_MODEL


@POINT_KINDS.register("predict")
class PredictPoint(ProfiledPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One program on one far memory, by one model."""

    NAME: ClassVar[str] = "predict"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "predict", "sim", "_window")

    model: str = DEFAULT_MODEL
    host: HostRule = PredictOptions.host
    phase: str | None = None
    """Only this phase; all of them where it is left out."""
    pages: str | None = PredictOptions.pages

    def check(self, inputs: PointInputs) -> None:
        """Refuse models, phases, pages and memories that predict refuses."""
        self.check_profile(inputs, self.model, None if self.phase is None else [self.phase])
        if self.pages is not None:
            parse_page_bytes(self.pages)

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Predict the times."""
        prediction = predict(
            self.profile_of(inputs),
            inputs.device(self.near),
            [inputs.device(self.far)],
            self.model,
            phases=None if self.phase is None else [self.phase],
            host=self.host,
            page_bytes=None if self.pages is None else parse_page_bytes(self.pages),
        )
        total = prediction.devices[0].total
        return PointValues(
            time_ns=total.far_time_ns.value,
            time_low_ns=total.far_time_ns.low,
            time_high_ns=total.far_time_ns.high,
            near_time_ns=total.near_time_ns.value,
            slowdown=total.slowdown.value,
            slowdown_low=total.slowdown.low,
            slowdown_high=total.slowdown.high,
            bound=total.bound,
            gb_per_s=total.far_read_gb_per_s + total.far_write_gb_per_s,
            more=json.dumps(
                {
                    "models": {item.model: item.slowdown for item in total.models},
                    "phases": {
                        item.phase: item.slowdown.value for item in prediction.devices[0].phases
                    },
                }
            ),
        ), None
