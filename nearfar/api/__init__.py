"""The public API: one function per verb, typed options in, documents out.

Every function takes an options object, ``predict(PredictOptions(...))``, or its fields as keywords,
``predict(profile="run.json", near="near.json", far=["optane-100-6dimm"])``. Options are those of
the verb of the same name (`nearfar.options`); where an option names a file that nearfar wrote, the
document itself can be given. Functions print nothing and raise `NearfarError`, whose message is
the sentence that the verb prints.
"""

from nearfar.api.predict import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.options.predict import PredictOptions

__all__ = ["ExitCode", "NearfarError", "PredictOptions", "predict"]
