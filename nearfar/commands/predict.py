"""The verb `predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.commands._verb import verb
from nearfar.options.predict import PredictOptions
from nearfar.options.shared import DeliveryOptions

if TYPE_CHECKING:
    from rich.console import Console

    from nearfar.documents import Prediction


@verb(PredictOptions, DeliveryOptions)
def predict(options: PredictOptions, delivery: DeliveryOptions) -> None:
    """Predict how long a profiled program takes with its data in far memory.

    PROFILE may also be a TOML file of formulas, the counts of one operation as functions of sizes,
    such as nearfar/predict/codes/thesis-hashmap.toml (named without folder: thesis-hashmap); then
    near time is predicted too. PROFILE may also be a file of a program's counters that `nearfar
    counters import` wrote. From several such files, each imported with its --size, curves are
    fitted that predict the --size requested.
    """
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.predict.api import predict as run  # nearfar.api imports all verbs' options

    check_output(delivery.output)
    deliver_document(run(options), delivery, _show)


def _show(prediction: Prediction, console: Console) -> None:
    from nearfar.predict.table import print_prediction

    print_prediction(prediction, console)
