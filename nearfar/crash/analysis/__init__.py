"""Facts about a recorded run, which lints judge.

pool_state    content of the pool and its objects, as far as the trace was walked
allocations   objects of libpmemobj that are live
origins       whether the program or libpmemobj requested a store or flush
durability    lines that never became durable, flushes that made nothing durable
transactions  stores without a snapshot, snapshots that no store needed
pool_images   an image of the pool in a file, its recovery, its objects
owners        objects, logs or heap that contain the lines of a bug
leaks         objects that cannot be reached, at the end and after power cuts
"""
