"""Oracles that derive the required content of a pool from the operations that a program marks.

history     values that the operations may have left for each key: durable linearisability
oracle      the verdict on a dump of an image
pool_check  libpmemobj's own check

To add a structure, write a file that parses its dump and derives the contents that its operations
may have left. A map's or set's dump is a program of a few lines, see include/nearfar/crash.h.
"""
