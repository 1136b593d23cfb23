"""Names of contents."""

from __future__ import annotations

import hashlib


def digest_of(content: bytes) -> str:
    """Return the hash that names this content: 128 bits, so that no two are equal by chance."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
