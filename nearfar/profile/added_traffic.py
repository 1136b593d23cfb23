"""Sums of traffic. Predictions need nothing else of what makes profiles, and start sooner so."""

from __future__ import annotations

from nearfar.documents.workload import AccessClasses, Traffic


def add_traffic(first: Traffic, second: Traffic, weight: float = 1.0) -> Traffic:
    """Return `first` plus `weight` times `second`."""
    total = Traffic()
    for name in Traffic.__struct_fields__:
        a, b = getattr(first, name), getattr(second, name)
        if isinstance(a, AccessClasses):
            for part in a.__struct_fields__:
                amount = getattr(a, part) + weight * getattr(b, part)
                setattr(getattr(total, name), part, amount)
        else:
            setattr(total, name, a + weight * b)
    return total
