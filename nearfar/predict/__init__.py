"""How long with this data in that memory?

Glossary
--------
traffic     one phase's cache-line traffic as an array, one row per object (`traffic`)
memory      a device profile as the numbers a model needs, as one core sees it (`memory`)
moved       the traffic that goes to far memory instead of near: the argument of every model
model       turns moved traffic into time; one file each in `models/`
doubt       what is varied to find the interval around a prediction (`interval`)
parallelism misses in flight at once; `chains` curves say what a miss costs at each
"""
