"""Tests of names of contents."""

from __future__ import annotations

from nearfar.base.digest import digest_of


def test_a_digest_names_one_content_on_every_machine() -> None:
    # BLAKE2b of no bytes, as other implementations print it: `b2sum -l 128 /dev/null`.
    assert digest_of(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert digest_of(b"\0") != digest_of(b"")
