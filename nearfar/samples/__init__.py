"""Samples of a memory, and where they are stored.

Files: `point` has one thing that is measured and a sample of it; `evidence` a curve that an
inference used; `store` the file that grows during a measurement; `parquet` the final table.
"""
