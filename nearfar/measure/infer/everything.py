"""All inferences on one subject, one after the other, within one budget."""

from __future__ import annotations

import time
from collections.abc import Callable

from nearfar.measure.infer.findings import Findings
from nearfar.measure.infer.inner import infer_inner
from nearfar.measure.infer.interleave import infer_interleave
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.queue import infer_queue
from nearfar.measure.infer.reads import infer_reads
from nearfar.measure.infer.stalls import infer_stalls
from nearfar.measure.infer.writes import infer_writes
from nearfar.measure.subject import Subject

REPETITIONS = 6
"""Samples of a point at first, a round each: a median of six loses two to neighbours unharmed."""


def infer(
    subject: Subject,
    budget: float,
    progress: Callable[[str, float], None],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Findings:
    """Infer what the memory of `subject` is made of in about `budget` seconds.

    `progress` gets the current step and the share done, 0 to 1.
    """
    start = clock()
    probe = InferenceProbe(subject, budget, REPETITIONS, clock)
    findings = Findings()
    progress("looking for caches and buffers, by reads", 0.0)
    with probe.share(0.5):
        reads = infer_reads(probe, findings)
    progress("looking for interleaved devices", 0.4)
    with probe.share(0.25):
        infer_interleave(probe, findings)
    progress("looking for blocks, ways and replacement", 0.55)
    with probe.share(0.4):
        infer_inner(probe, reads, findings)
    progress("looking for a write queue", 0.7)
    with probe.share(0.4):
        infer_queue(probe, findings)
    progress("looking for buffers, by persisted writes", 0.8)
    with probe.share(0.6):
        infer_writes(probe, reads, findings)
    progress("looking for stalls", 0.9)
    infer_stalls(probe, findings)
    first = next((buffer for buffer in findings.buffers if buffer.name == "buffer 1"), None)
    if first is not None and first.block_bytes is not None:
        findings.granularity_bytes = first.block_bytes
        findings.granularity_confidence = first.confidence
    else:
        findings.not_seen["granularity"] = "no block of the device's first buffer was seen"
    findings.taken = probe.taken
    findings.seconds = clock() - start
    findings.ended = "time" if probe.out_of_time else "done"
    progress("inferred", 1.0)
    return findings
