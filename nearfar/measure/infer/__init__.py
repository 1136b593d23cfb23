"""Inference of what a memory is made of, from samples: caches, buffers, queues, stalls.

Each inference is a file: which points it samples (through a `Subject` only, as its probe allows),
the decision (pure functions, arrays in, answer out), an interval, a confidence, the evidence for a
picture, or "not seen" and why. It reports nothing that the samples do not show.

Glossary
--------
level       a cache or buffer that serves regions up to its capacity; `levels` finds them
knee        the region size at which a level stops serving everything
served      latency of an access that a level serves; beyond: of one that the next must serve
block       what a buffer fetches at once; its lines share the cost of one miss
probe       a subject with memory, a clock and a deadline; drops disturbed samples
confidence  share of bootstrap resamples of the samples that give the same answer
"""

from nearfar.measure.infer.everything import infer
from nearfar.measure.infer.findings import Findings
from nearfar.samples.evidence import Evidence

__all__ = ["Evidence", "Findings", "infer"]
