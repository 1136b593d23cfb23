"""Many profiles of many hosts: what far memory would cost and save across them.

Profiles are condensed to rows once (`cache`), kept in a cache by what the file is, and summed by
DuckDB, so that memory does not grow with the fleet. *Host type*: hosts that are bought alike.
*Mix*: the share of a host's memory that is far. *Limit*: the most slowdown of any program.
"""
