"""The verb `scale`."""

from __future__ import annotations

from nearfar.commands._verb import verb
from nearfar.options.profiles import ScaleOptions
from nearfar.options.shared import DeliveryOptions


@verb(ScaleOptions, DeliveryOptions)
def scale(options: ScaleOptions, delivery: DeliveryOptions) -> None:
    """Extrapolate profiles of a program at several sizes to one that was never run.

    Profile each size with `nearfar profile --size n=1e5`; at least three sizes, the largest at
    least four times the smallest. A size may be profiled several times: the mean of its runs is
    less uncertain, since each samples other cache lines. The larger sizes are predicted from the
    smaller ones: this shows how each number grows, and how far off it may be. The result is a
    profile for predict and place.
    """
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.documents import WorkloadProfile, load
    from nearfar.profile.options import parse_named_size
    from nearfar.profile.scaling.extrapolate import extrapolate
    from nearfar.profile.summary import print_extrapolated

    check_output(delivery.output)
    target = dict(parse_named_size(text, "--to") for text in options.to)
    extrapolated = extrapolate(
        [load(path, WorkloadProfile) for path in options.profiles],
        [str(path) for path in options.profiles],
        target,
        force=options.force,
    )
    deliver_document(extrapolated, delivery, print_extrapolated)
