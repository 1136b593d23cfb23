"""Many profiles of many hosts: what far memory would cost and save across them.

Each profile is condensed to rows once. The rows are cached by the file's name, size and time of
change (`cache`) and summed in parts, so that a profile needs less than 1 KiB of memory. *Host
type*: hosts with the same hardware and price. *Mix*: the share of a host's memory that is far.
*Limit*: the greatest slowdown that any program may have.
"""
