"""nearfar: predict how a program runs when some of its memory is far; decide what stays near."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's, without the time its import takes
if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Return `__version__`, looked up when asked for: the compiler drivers start without it."""
        if name != "__version__":
            raise AttributeError(f"module 'nearfar' has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            installed = version("nearfar")
        except PackageNotFoundError:  # run from a tree that was never installed
            installed = "0+uninstalled"
        globals()["__version__"] = installed
        return installed
