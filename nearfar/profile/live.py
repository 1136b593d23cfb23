"""Live bytes over time, from the process that held the most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nearfar.documents.workload import LiveSample
from nearfar.profile.objects import Site
from nearfar.profile.run_file import ProcessFile

SMALL_SHARE = 0.01
"""Objects below this share of a sample's total are added up under "other"."""
MOST_SAMPLES = 200
"""More than a picture has room for."""


def live_samples(
    files: Sequence[ProcessFile],
    object_of: Mapping[Site, int],
    phase_names: Mapping[int, str],
    end_ns: float,
) -> list[LiveSample]:
    """Return the samples in order of time, and what was alive when the run ended, `end_ns`."""
    if not files:
        return []
    process = max(range(len(files)), key=lambda at: int(files[at].header["peak_bytes"]))
    file = files[process]

    def sample(time_ns: float, phase: str, pairs: Iterable[tuple[int, int]]) -> LiveSample:
        bytes_by_object: dict[str, int] = {}
        total = 0
        for site, size_bytes in pairs:
            total += size_bytes
            if (thing := object_of.get((process, site))) is not None:
                key = str(thing)
                bytes_by_object[key] = bytes_by_object.get(key, 0) + size_bytes
        large = {k: v for k, v in bytes_by_object.items() if v >= SMALL_SHARE * total}
        if (rest := total - sum(large.values())) > 0:
            large["other"] = rest
        return LiveSample(time_ns=time_ns, phase=phase, bytes_by_object=large)

    step = -(-len(file.live) // MOST_SAMPLES) or 1
    samples: list[LiveSample] = []
    for row in file.live[::step]:
        used = row["sites"][: int(row["count"])]
        pairs = list(zip(used["site"].tolist(), used["bytes"].tolist(), strict=True))
        # Sites beyond the sample's room are in its total alone.
        pairs.append((-1, int(row["total_bytes"]) - sum(size for _, size in pairs)))
        name = phase_names.get(int(row["phase"]), "-")
        samples.append(sample(float(row["time_ns"]), name, pairs))
    alive = [
        (number, size) for number, size in enumerate(file.sites["live_bytes"].tolist()) if size > 0
    ]
    last = samples[-1].phase if samples else "-"
    samples.append(sample(end_ns, last, alive))
    return samples
