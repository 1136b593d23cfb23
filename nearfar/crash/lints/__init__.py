"""Mistakes that show in a trace whatever the checker reports: one lint, one file.

A lint is a class marked by `register`. Its docstring says what it means (first sentence) and when
it is reported; `kind` is its name in reports. Documents, SARIF rules and the reference page list
what this folder holds.
"""
