"""The assumed idle latency of a far memory on this machine, and its origin."""

from __future__ import annotations

from nearfar.documents import Prediction
from nearfar.documents.prediction import DevicePrediction

MAX_FASTER_RATIO = 0.98
"""Ratio of far to near latency below which a memory counts as faster, as in `nearfar predict`; 2 %
is within noise."""


def how_taken(prediction: Prediction, far: DevicePrediction) -> str:
    """Return ``174 + 69 ns: near here plus ...``; empty where the prediction does not say."""
    near_ns, far_ns = prediction.near_latency_ns, far.latency_ns
    if far_ns is None or far.latency_from is None:
        return ""
    if far.latency_from == "measured":
        return f"{far_ns:.0f} ns, measured here"
    if far.latency_from == "added" and near_ns is not None and far_ns >= near_ns:
        added = f"{near_ns:.0f} + {far_ns - near_ns:.0f} ns"
        return f"{added}: near here plus what it added over its own host's DRAM"
    if far.latency_from in ("added", "ratio") and near_ns:
        # A memory faster than its host's DRAM adds nothing: its ratio is used.
        share = f"{near_ns:.0f} × {far_ns / near_ns:.2f} ns"
        return f"{share}: near here times its ratio to its own host's DRAM"
    return f"{far_ns:.0f} ns, as published: its host's DRAM is not known or is this machine's"


def is_faster(prediction: Prediction, far: DevicePrediction) -> bool:
    """Return whether a far memory answers faster than near memory does here."""
    near_ns, far_ns = prediction.near_latency_ns, far.latency_ns
    return bool(near_ns and far_ns and far_ns < MAX_FASTER_RATIO * near_ns)
