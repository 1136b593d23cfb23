"""Workloads on memory and on pools: experiments as text, run by `nearfar-bench`.

Glossary
--------
experiment  a kind of workload, a matrix of arguments, repeats; one TOML file
cell        one combination of the matrix
run         one process of `nearfar-bench` for one cell: one line of figures
round       one run of every cell; rounds follow each other, so that drift meets all cells alike
"""
