"""Converting far memory from one use to another, as the guides do it by hand.

A *request* says what to and of which device. A *target* (one file in targets/) looks at the
machine as it is and drafts what is left to do: *steps*, each one command a person could type;
*obstacles*, preconditions that do not hold; *warnings*. Nothing is remembered but the request:
after a reboot the draft is made again from the machine's state, so it goes on where it was.
Whether a step worked is read from the machine, never from the tool's exit status.
"""
