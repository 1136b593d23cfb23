"""nearfar: predict how a program runs when some of its memory is far; decide what stays near."""

__version__ = "0.1.0"
