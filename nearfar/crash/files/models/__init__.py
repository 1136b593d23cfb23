"""File systems: which operations a power cut may lose while later ones survive.

A model is a class marked `@register` in a file of its own. From the published studies: Pillai et
al., "All file systems are not created equal" (ALICE, OSDI 2014), table 1 and section 3; Mohan et
al., "Finding crash-consistency bugs with bounded black-box crash testing" (B3, OSDI 2018); and
Linux, Documentation/filesystems/ext4.
"""
