"""Types of fields with their bounds; a value outside them is refused where a file is read."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST = 1e30
"""Upper bound of any time in ns, size or count; sums and squares of such values are finite."""

Bytes = Annotated[int, Meta(ge=0, le=2**60)]
Whole = Annotated[int, Meta(ge=0, le=2**62)]
"""A count or an index."""
Positive = Annotated[int, Meta(ge=1, le=2**60)]
"""A count or a size that cannot be 0."""
Amount = Annotated[float, Meta(ge=0.0, le=MOST)]
"""A count that was estimated, a time, a rate."""
Part = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A share of a whole."""
Size = Annotated[float, Meta(gt=0.0, le=MOST)]
"""Bytes of a cache, as a point of a curve."""
