"""The native module of `nearfar measure`, and what to do where it is not built.

Everything in measure takes `_measure` from here: without the module, its first use raises an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.base.errors import ExitCode, NearfarError

__all__ = ["_measure", "require_native"]


class _MissingModule:
    """A native module that cannot be loaded: every use raises a NearfarError."""

    def __init__(self, error: ImportError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise NearfarError(
            f"cannot load the native module of `nearfar measure` ({self._error}): run `make setup`",
            ExitCode.MACHINE_LACKS,
        ) from self._error


if TYPE_CHECKING:
    from nearfar import _measure
else:
    try:
        from nearfar import _measure
    except ImportError as error:
        _measure = _MissingModule(error)


def require_native() -> None:
    """Refuse to start where the native module is not built."""
    _measure.kernels  # noqa: B018 - raises where the module is missing
