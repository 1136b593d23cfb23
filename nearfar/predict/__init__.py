"""Predictions: time of a program with its data in another memory.

Glossary
--------
traffic       one phase's cache lines as an array, one row per object (`traffic`)
costs         a device profile as the numbers a model needs, as one core sees it (`memory`)
moved         the traffic that goes to far memory instead of near: the argument of every model
model         turns moved traffic into time; one file each in `models/`
perturbation  a changed input, to find the interval around a prediction (`interval`)
parallelism   misses in flight at once; `chains` curves give the cost of a miss at each
"""
