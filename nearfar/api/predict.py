"""The API function `predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.predict import PredictOptions

if TYPE_CHECKING:
    from nearfar.documents import Prediction


@api_function(PredictOptions)
def predict(options: PredictOptions) -> Prediction:
    """Predict how long a profiled program takes with its data in far memory."""
    from nearfar.predict.api import predict as run

    return run(options)
