"""Run a program with its data where a plan says, and ask the kernel where it landed.

Glossary
--------
target     where an object goes: one memory, or several by weights or shares (`targets`)
table      what the verb tells the preloaded library: memories and targets (`layout`)
stack      an allocation's return addresses; the library asks what it has not seen (`server`),
           the verb names the frames (`symbolizer`) and finds the object (`match`)
picture    what each sampled page holds, and where the kernel says it is (`landing`)
"""
