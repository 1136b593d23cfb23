"""nearfar: predict how a program runs when some of its memory is far; decide what stays near."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("nearfar")
except PackageNotFoundError:  # run from a tree that was never installed
    __version__ = "0+uninstalled"
