"""Errors, files, units, statistics and registries, which all parts of nearfar use.

Glossary
--------
near, far      two memories; near is where everything is today, far the slower, larger, cheaper one
object         what was allocated at one site (call stack); or a mapped file, the stack, the globals
phase          a marked or detected stretch of a run
site           an allocation's place in the source; an *instruction* is an access's place
GB             1e9 bytes, always; 2**30 bytes is spelled GiB
"""
