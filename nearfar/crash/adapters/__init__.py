"""Oracles that know what must be in a pool, from what the program says that it does.

history   what operations may have left for each key: durable linearisability
content   what a dump prints of an image
oracle    the verdict on a dump, at a point of the run

To add a structure: a file with its content and what its operations may have left, and a line in
``oracle``. A map's or set's dump is a program of a few lines, see include/nearfar/crash.h.
"""
