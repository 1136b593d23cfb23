"""What a power cut could leave of a pool, and whether its reader can live with it.

trace     what the preloaded library (native/crash) recorded of one run: stores, flushes, fences
line      64 bytes of the pool; it reaches memory whole, at any time, with any prefix of its stores
durable   what memory holds for certain: what was flushed before the last fence
point     a moment at which power may go: before each fence, at an operation's end, at the end
state     one image of the pool that memory may hold at a point: of every line that is not yet
          durable some prefix of its stores
judge     writes a state into a file in memory and runs the user's checker on it
bug       a symptom of the checker and the stores that it needs, reported once
"""
