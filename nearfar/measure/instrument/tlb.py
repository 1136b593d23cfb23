"""The TLB's share of a latency: the same chase on huge and on small pages."""

from __future__ import annotations

from dataclasses import replace

from nearfar.base.statistics import difference_estimate, median_estimate
from nearfar.documents.device import LatencyFigure
from nearfar.measure.instrument.verdict import InstrumentVerdict, Values, page_name, plain_chase
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint

HUGE_BYTES = 2 << 20
"""Page size from which pages are huge: one entry of a second-level TLB covers 512 small pages."""

SEEN = 0.01
"""Share of the latency below which a difference is noise, not the TLB."""


def points(facts: SubjectFacts) -> list[SamplePoint]:
    """Return the plain chase on every page size obtained."""
    plain = plain_chase(facts)
    return [replace(plain, page_bytes=size) for size in facts.page_sizes]


def judge(facts: SubjectFacts, values: Values) -> list[InstrumentVerdict]:
    """Judge what small pages add to the latency of the largest region, in ns and as a share."""
    plain = plain_chase(facts)
    large, small = max(facts.page_sizes), min(facts.page_sizes)
    if large == small:
        if large >= HUGE_BYTES:
            return []  # only huge pages were asked for: what little TLB misses add is theirs
        text = (
            f"the share of TLB misses is not known: only {page_name(small)} pages were obtained, "
            "so latencies of large regions hold page walks"
        )
        # No remedy: whoever obtained the memory has said why there are no huge pages.
        return [InstrumentVerdict("tlb", "unknown", text, facts={"tlb_share": "unknown"})]
    huge = median_estimate(values[replace(plain, page_bytes=large)])
    walked = median_estimate(values[replace(plain, page_bytes=small)])
    extra = difference_estimate(
        values[replace(plain, page_bytes=small)], values[replace(plain, page_bytes=large)]
    )
    share = extra.value / walked.value
    seen = extra.low > 0 and share > SEEN
    text = (
        f"{page_name(small)} pages add {extra.value:.1f} ns [{extra.low:.1f}, {extra.high:.1f}] "
        f"to {huge.value:.1f} ns of {page_name(large)} pages: {share:.0%} of a latency on small "
        "pages is TLB misses"
        if seen
        else f"{page_name(small)} pages cost no more than {page_name(large)} pages beyond noise"
    )
    figures = tuple(
        LatencyFigure(
            region_bytes=facts.largest_bytes,
            page_bytes=size,
            value_ns=estimate.value,
            low_ns=estimate.low,
            high_ns=estimate.high,
            how="measured",
            source="here",
            note="by the probe of the TLB's share",
        )
        for size, estimate in ((large, huge), (small, walked))
    )
    facts_kept = {
        "tlb_ns": f"{extra.value:.2f}",
        "tlb_low_ns": f"{extra.low:.2f}",
        "tlb_high_ns": f"{extra.high:.2f}",
        "tlb_share": f"{max(share, 0.0):.3f}",
    }
    return [InstrumentVerdict("tlb", "good", text, facts=facts_kept, latency=figures)]
