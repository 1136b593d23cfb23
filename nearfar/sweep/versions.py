"""The version of a kind of point: nearfar's version and a digest of the code that it runs."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

import nearfar
from nearfar.base.errors import NearfarError

PACKAGE = Path(nearfar.__file__).parent


@cache
def code_digest(folders: tuple[str, ...]) -> str:
    """Return a digest of the Python files of these folders; ``_sim`` is a native module.

    An installed nearfar has one digest; a checkout whose code changed has another,
    so that points of older code are computed again.
    """
    digest = hashlib.blake2b(digest_size=6)
    for folder in sorted(folders):
        native = folder.startswith("_")
        for path in sorted([_native(folder)] if native else (PACKAGE / folder).rglob("*.py")):
            digest.update(path.name.encode() + hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def _native(module: str) -> Path:
    spec = importlib.util.find_spec(f"nearfar.{module}")
    if spec is None or spec.origin is None:
        raise NearfarError(
            f"this nearfar was installed without its native part {module}: install it again"
        )
    return Path(spec.origin)


def version_of(folders: tuple[str, ...]) -> str:
    """Return the version in a point's name and row: ``0.1.0+1f00aa23bc99``."""
    return f"{nearfar.__version__}+{code_digest(folders)}"
