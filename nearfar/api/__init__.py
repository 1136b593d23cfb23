"""The public API: one function per verb, typed options in, documents out.

Every function takes an options object, ``predict(PredictOptions(...))``, or its fields as keywords,
``predict(profile="run.json", near="near.json", far=["optane-100-6dimm"])``. Options are those of
the verb of the same name (`nearfar.options`); where an option names a file that nearfar wrote, the
document itself can be given. Functions print nothing and raise `NearfarError`, whose message is
the sentence that the verb prints.
"""

from nearfar.api.compare import compare
from nearfar.api.crash import crash
from nearfar.api.machine import check_machine, machine
from nearfar.api.measure import measure, measure_kernel
from nearfar.api.place import place
from nearfar.api.predict import predict
from nearfar.api.profile import profile
from nearfar.api.report import report, report_page
from nearfar.api.run import run
from nearfar.api.try_program import try_program
from nearfar.api.validate import validate
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.options.compare import CompareOptions
from nearfar.options.crash import CrashOptions
from nearfar.options.machine import MachineOptions, RootOptions
from nearfar.options.measure import KernelOptions, MeasureOptions
from nearfar.options.place import PlaceOptions
from nearfar.options.predict import PredictOptions
from nearfar.options.profile import ProfileOptions
from nearfar.options.report import ReportOptions
from nearfar.options.run import RunOptions
from nearfar.options.try_program import TryOptions
from nearfar.options.validate import ValidateOptions

__all__ = [
    "CompareOptions",
    "CrashOptions",
    "ExitCode",
    "KernelOptions",
    "MachineOptions",
    "MeasureOptions",
    "NearfarError",
    "PlaceOptions",
    "PredictOptions",
    "ProfileOptions",
    "ReportOptions",
    "RootOptions",
    "RunOptions",
    "TryOptions",
    "ValidateOptions",
    "check_machine",
    "compare",
    "crash",
    "machine",
    "measure",
    "measure_kernel",
    "place",
    "predict",
    "profile",
    "report",
    "report_page",
    "run",
    "try_program",
    "validate",
]
