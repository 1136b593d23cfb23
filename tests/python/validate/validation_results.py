"""Made-up results: kernels with known slowdowns, models with known errors."""

from __future__ import annotations

from nearfar.base.estimate import Estimate
from nearfar.documents.validation import KernelResult, ModelSlowdown, Session

NEAR_NS = 1e8


def session(name: str = "one", tier: str = "cxl", cpu_model: str = "made up") -> Session:
    return Session(
        id=name,
        time_utc="2026-01-01T00:00:00.000+00:00",
        host="host",
        cpu_model=cpu_model,
        near="dram,pages=thp",
        far="node:1,pages=thp",
        tier=tier,
        llc_bytes=32 << 20,
        region_bytes=256 << 20,
        rounds=5,
    )


def result(
    name: str,
    slowdown: float,
    models: dict[str, float],
    *,
    of_session: str = "one",
    a_a: float = 0.01,
    own: float = 0.05,
) -> KernelResult:
    return KernelResult(
        session=of_session,
        name=name,
        near_ns=Estimate(NEAR_NS, 0.99 * NEAR_NS, 1.01 * NEAR_NS),
        far_ns=Estimate(slowdown * NEAR_NS, slowdown * NEAR_NS, slowdown * NEAR_NS),
        slowdown=Estimate(slowdown, slowdown, slowdown),
        a_a=a_a,
        misses=1e6,
        huge_share_near=1.0,
        huge_share_far=1.0,
        near_samples_ns=[NEAR_NS] * 4,
        far_samples_ns=[slowdown * NEAR_NS] * 4,
        models={
            model: ModelSlowdown(slowdown=value, low=value * (1 - own), high=value * (1 + own))
            for model, value in models.items()
        },
    )


def several(count: int = 12, error: float = 0.04) -> list[KernelResult]:
    """Return slowdowns from 1.1 up; "good" errs by `error` up and down, "null" predicts 1."""
    return [
        result(
            f"kernel-{i}",
            1.1 + 0.05 * i,
            {"good": (1.1 + 0.05 * i) * (1 + error * (-1) ** i), "null": 1.0},
        )
        for i in range(count)
    ]
