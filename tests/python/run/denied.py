"""Runs a command as in a container that denies mbind and access to other processes.

python denied.py COMMAND...: a seccomp filter answers those calls with EPERM (x86-64), and madvise
where it requests huge pages.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

DENIED = {237: "mbind", 279: "move_pages", 310: "process_vm_readv"}
MADVISE, HUGEPAGE = 28, 14
ADVICE = 32
"""Offset of the low half of the third argument in seccomp_data; the call's number is at 0."""
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
"""linux/bpf_common.h: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K."""
ALLOW, EPERM = 0x7FFF0000, 0x00050001
"""linux/seccomp.h."""
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
"""linux/prctl.h."""


class Program(ctypes.Structure):
    """The kernel's struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main() -> None:
    """Deny the calls, then exec the command."""
    # Jumps are relative to the next row; the last two rows allow and deny.
    rows = [(EQUAL, 0, 2, MADVISE), (LOAD, 0, 0, ADVICE), (EQUAL, 1, 0, HUGEPAGE)]
    for left, number in enumerate(reversed(DENIED), start=len(rows)):
        rows.insert(0, (EQUAL, left + 1, 0, number))
    rows = [(LOAD, 0, 0, 0), *rows, (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, EPERM)]
    content = b"".join(struct.pack("=HBBI", *row) for row in rows)
    program = Program(len(rows), content)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        SECCOMP, FILTER, ctypes.byref(program)
    ):
        sys.exit(f"no seccomp here: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
