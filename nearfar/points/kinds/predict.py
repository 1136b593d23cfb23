"""``[[predict]]``: a program with all its data in a far memory, as `nearfar predict` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from nearfar.base.errors import NearfarError
from nearfar.base.units import parse_budget_bytes
from nearfar.options.predict import PredictOptions
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS, with_options
from nearfar.points.profiled import ProfiledPoint
from nearfar.points.row import PointValues
from nearfar.predict.api import predict
from nearfar.predict.device_figures import parse_page_bytes
from nearfar.predict.model import DEFAULT_MODEL


@POINT_KINDS.register("predict")
@with_options(PredictOptions, "model", "host", "pages", model=DEFAULT_MODEL)
class PredictPoint(ProfiledPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One program on one far memory, by one model."""

    NAME: ClassVar[str] = "predict"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "predict", "sim", "_window")

    phase: str | None = None
    """Only this phase; all of them where it is left out."""
    near_budget: str | None = None
    """Memory near where the far memory is moved in pages, such as 60% or 2GiB."""

    def check(self, inputs: PointInputs) -> None:
        """Refuse models, phases, pages and memories that predict refuses."""
        asked = self.asked(
            PredictOptions, profile=Path(self.source), near=self.near, far=[self.far]
        )
        phases = None if self.phase is None else [self.phase]
        self.check_profile(inputs, asked.model or DEFAULT_MODEL, phases, asked.host)
        if asked.pages is not None:
            parse_page_bytes(asked.pages)
        paged = inputs.device(self.far).technology == "paged"
        if paged != (self.near_budget is not None):
            raise NearfarError(
                f"far = {self.far!r} is moved in pages and needs near_budget, such as 60%"
                if paged
                else f"near_budget is for memory that is moved in pages, which {self.far} is not"
            )
        if self.near_budget is not None:
            parse_budget_bytes(self.near_budget, 1)

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Predict the times."""
        asked = self.asked(
            PredictOptions,
            profile=self.profile_of(inputs),
            near=inputs.device(self.near),
            far=[inputs.device(self.far)],
            phase=self.phase,
            near_budget=() if self.near_budget is None else (self.near_budget,),
        )
        prediction = predict(asked)
        total, paged = prediction.devices[0].total, prediction.devices[0].paged
        faults = {} if paged is None else {"faults": paged.budgets[0].faults.value}
        return PointValues(
            time_ns=total.far_time_ns.value,
            time_low_ns=total.far_time_ns.low,
            time_high_ns=total.far_time_ns.high,
            near_time_ns=total.near_time_ns.value,
            near_bytes=None if paged is None else paged.budgets[0].near_bytes,
            footprint_bytes=None if paged is None else paged.footprint_bytes,
            slowdown=total.slowdown.value,
            slowdown_low=total.slowdown.low,
            slowdown_high=total.slowdown.high,
            bound=total.bound,
            gb_per_s=total.far_read_gb_per_s + total.far_write_gb_per_s,
            more=json.dumps(
                {
                    **faults,
                    "models": {item.model: item.slowdown for item in total.models},
                    "phases": {
                        item.phase: item.slowdown.value for item in prediction.devices[0].phases
                    },
                }
            ),
        ), None
