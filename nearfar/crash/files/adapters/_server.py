"""Keeps an adapter loaded and forks it for each image.

The arguments are the adapter, folder, printed text, output, and further arguments of the adapter.

For each line on standard input it prints the child's process number and then its wait status.
"""

from __future__ import annotations

import os
import runpy
import sys


def main(adapter: str, folder: str, printed: str, output: str, *more: str) -> None:
    """Serve until standard input ends."""
    check = runpy.run_path(adapter)["main"]
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, 1)
            os.dup2(file, 2)
            os.setpgid(0, 0)
            code = 1
            try:
                code = check(folder, printed, *more)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}")
            finally:
                sys.stdout.flush()
                os._exit(code)
        print(child, flush=True)
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
