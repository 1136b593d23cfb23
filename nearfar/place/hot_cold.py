"""A type's fields in a hot and a cold part, and how these lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nearfar.base.units import LINE_BYTES
from nearfar.documents.touched_field import TouchedField
from nearfar.place.type_use import (
    ANY_START,
    MAPPED_START,
    Access,
    Layout,
    TypeUse,
    block_bytes,
    lines_of,
)

POINTER_BYTES = 8

Visits = Literal["value", "few", "many"]
"""Assumption about what counts do not show: which accesses share a visit of an element, where
blocks lie, and whether a sequence fits into the cache.

value: likely; a field that is not always touched counts in half of the visits
few: only fields that every visit touches count; a sequence fits if its curve allows; hot parts that
are blocks of their own lie side by side, as the allocator sorts blocks by size
many: every access to the cold part is a visit of its own; a sequence must surely fit
"""

Part = Literal["whole", "hot", "cold"]


@dataclass(frozen=True)
class HotCold:
    """A type's fields in two parts."""

    use: TypeUse
    hot: tuple[TouchedField, ...]

    @property
    def hot_bytes(self) -> int:
        """Bytes of the hot fields."""
        return sum(touched.bytes for touched in self.hot)

    @property
    def strides(self) -> tuple[int, int]:
        """Bytes that each hot part takes, and each cold part."""
        hot = -(-self.hot_bytes // POINTER_BYTES) * POINTER_BYTES
        cold = max(0, self.use.type_bytes - self.hot_bytes)
        if self.use.alone:
            # The cold part is a separate block, so the hot part needs a pointer to it.
            return block_bytes(hot + POINTER_BYTES), block_bytes(cold)
        return hot, -(-cold // POINTER_BYTES) * POINTER_BYTES

    def layout(self, part: Part, visits: Visits) -> Layout:
        """Return how whole elements or one of their parts lie in memory.

        Blocks of hot and cold parts that are allocated in turn lie in turn, unless the allocator
        sorts them by size.
        """
        if part == "whole":
            return self.use.layout
        strides = self.strides
        stride = strides[part == "cold"]
        if self.use.alone:
            return Layout(stride if visits == "few" else sum(strides), ANY_START)
        return Layout(stride, MAPPED_START if self.use.layout.starts == MAPPED_START else ANY_START)

    def lines(self, access: Access, part: Part, visits: Visits) -> tuple[float, float]:
        """Return the lines of a part that an access touches, alone and in sequence."""
        return self.lines_of_fields(access.fields, access.bytes, part, visits)

    def lines_of_fields(
        self, fields: Sequence[TouchedField], size: int, part: Part, visits: Visits
    ) -> tuple[float, float]:
        """Return the lines of a part that an access of `size` bytes to some fields touches."""
        layout = self.layout(part, visits)
        begin = min(touched.offset for touched in fields)
        end = max(touched.offset + touched.bytes for touched in fields)
        if part != "whole":
            hot_before, hot_until = self._hot_below(begin), self._hot_below(end)
            begin, end = (
                (hot_before, hot_until) if part == "hot" else (begin - hot_before, end - hot_until)
            )
        if len(fields) == 1 and 0 < size < end - begin:
            # Some place in an array.
            lines = lines_of(size)
            return lines, min(layout.stride_bytes / LINE_BYTES, lines)
        return layout.lines(begin, end - begin), layout.lines_in_sequence(begin, end - begin)

    def hot_fields(self, access: Access) -> list[TouchedField]:
        """Return the hot fields that an access touches."""
        return [touched for touched in access.fields if self._overlaps(touched)]

    def cold_fields(self, access: Access) -> list[TouchedField]:
        """Return the fields that an access touches outside the hot part."""
        keys = {(touched.offset, touched.bytes) for touched in self.hot}
        return [touched for touched in access.fields if (touched.offset, touched.bytes) not in keys]

    def _overlaps(self, touched: TouchedField) -> bool:
        return any(
            touched.offset < hot.offset + hot.bytes and hot.offset < touched.offset + touched.bytes
            for hot in self.hot
        )

    def _hot_below(self, offset: int) -> int:
        """Return the hot bytes before an offset of the whole element."""
        return sum(min(max(offset - hot.offset, 0), hot.bytes) for hot in self.hot)
