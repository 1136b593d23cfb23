"""The public API: one function per verb, typed options in, documents out.

Every function takes an options object, ``predict(PredictOptions(...))``, or its fields as keywords,
``predict(profile="run.json", near="near.json", far=["optane-100-6dimm"])``. Options are those of
the verb of the same name (`nearfar.options`); where an option names a file that nearfar wrote, the
document itself can be given. Functions print nothing and raise `NearfarError`, whose message is
the sentence that the verb prints.
"""

from nearfar.api.compare import compare
from nearfar.api.place import place
from nearfar.api.predict import predict
from nearfar.api.report import report, report_page
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.options.compare import CompareOptions
from nearfar.options.place import PlaceOptions
from nearfar.options.predict import PredictOptions
from nearfar.options.report import ReportOptions

__all__ = [
    "CompareOptions",
    "ExitCode",
    "NearfarError",
    "PlaceOptions",
    "PredictOptions",
    "ReportOptions",
    "compare",
    "place",
    "predict",
    "report",
    "report_page",
]
