"""The verb `predict`."""

from __future__ import annotations

from nearfar.commands._verb import verb
from nearfar.options.predict import PredictOptions
from nearfar.options.shared import DeliveryOptions


@verb(PredictOptions, DeliveryOptions)
def predict(options: PredictOptions, delivery: DeliveryOptions) -> None:
    """Predict how long a profiled program takes with its data in far memory.

    PROFILE may also be a TOML file of formulas, the counts of one operation as functions of sizes,
    such as nearfar/predict/codes/thesis-hashmap.toml (named without folder: thesis-hashmap); then
    near time is predicted too. Or a file of a program's counters that `nearfar counters import`
    wrote; to several such files, each imported with its --size, curves are fitted that predict the
    --size requested.
    """
    from nearfar import api
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.predict.table import print_prediction

    check_output(delivery.output)
    deliver_document(api.predict(options), delivery, print_prediction)
