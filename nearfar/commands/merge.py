"""The verb `merge`."""

from __future__ import annotations

from nearfar.commands._verb import verb
from nearfar.options.profiles import MergeOptions
from nearfar.options.shared import DeliveryOptions


@verb(MergeOptions, DeliveryOptions)
def merge(options: MergeOptions, delivery: DeliveryOptions) -> None:
    """Merge profiles of several runs of one program into one for predict and place.

    For a program that has several typical inputs: its objects and instructions are recognised by
    their places in the source, whatever each run called them.
    """
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.documents import WorkloadProfile, load
    from nearfar.profile.merge import merge as run
    from nearfar.profile.summary import print_summary

    check_output(delivery.output)
    merged = run(
        [load(path, WorkloadProfile) for path in options.profiles],
        [str(path) for path in options.profiles],
        list(options.weight) or None,
        edited=options.edited,
    )
    deliver_document(merged, delivery, print_summary)
