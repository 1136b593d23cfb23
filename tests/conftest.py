"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell that starts the tests in its background has them ignore Ctrl-C, and so would every
# program they start: those that test being interrupted would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
