"""The inversion, with an interval that knows where models disagree: the default.

On the cycle-level core no other model is better than the inversion on either half of the kernels,
nor any mean with one: all others miss by two to ten times as much where latency grows. So nothing
is mixed into its value. Two of them bracket it, though: `chains` takes no miss for hidden, and
`traffic` knows bandwidth alone. Where they are far apart, more hangs on what the inversion takes
for hidden, and its interval reaches a part of the way to both (see `interval`).
"""

from __future__ import annotations

from nearfar.predict.model import MODELS
from nearfar.predict.models import inversion

__doc__ = f"{__doc__}\n{inversion.__doc__}"  # The report prints how the default predicts.


@MODELS.register("best")
class Best(inversion.Inversion):
    """The inversion between its brackets."""

    name = "best"
    brackets = ("chains", "counters", "traffic")
