"""Images that a power cut could leave of a pool, judged by a checker.

trace     stores, flushes and fences of one run, recorded by a preloaded library (native/crash)
line      64 bytes of the pool; reaches memory whole, at any time, with any prefix of its stores
durable   in memory for certain: flushed before the last fence
point     a moment of a power cut: before each fence, at an operation's end, at the end
state     one image of the pool that memory may hold at a point: some prefix of the stores of
          every line that is not durable yet
judge     runs the user's checker on a state, written to a file in memory
bug       a symptom of the checker and the stores that it needs, reported once
lint      a mistake that shows in the trace, whatever the checker reports
"""
