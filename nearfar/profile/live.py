"""Live bytes over time, from the process that held the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.documents.workload import LiveSample
from nearfar.profile.objects import Site
from nearfar.profile.run_file import ProcessFile

SMALL_SHARE = 0.01
"""Objects below this share of a sample's total are added up under "other"."""
MOST_SAMPLES = 200
"""More than a picture has room for."""


def live_samples(
    files: Sequence[ProcessFile], object_of: Mapping[Site, int], phase_names: Mapping[int, str]
) -> list[LiveSample]:
    """Return the samples in order of time."""
    if not files:
        return []
    process = max(range(len(files)), key=lambda at: int(files[at].header["peak_bytes"]))
    rows = files[process].live
    step = -(-len(rows) // MOST_SAMPLES) or 1
    samples: list[LiveSample] = []
    for row in rows[::step]:
        bytes_by_object: dict[str, int] = {}
        total = int(row["total_bytes"])
        for entry in row["sites"][: int(row["count"])]:
            thing = object_of.get((process, int(entry["site"])))
            if thing is not None:
                bytes_by_object[str(thing)] = bytes_by_object.get(str(thing), 0) + int(
                    entry["bytes"]
                )
        large = {k: v for k, v in bytes_by_object.items() if v >= SMALL_SHARE * total}
        if (rest := total - sum(large.values())) > 0:
            large["other"] = rest
        samples.append(
            LiveSample(
                time_ns=float(row["time_ns"]),
                phase=phase_names.get(int(row["phase"]), "-"),
                bytes_by_object=large,
            )
        )
    return samples
