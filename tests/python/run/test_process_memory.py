"""Calls to the kernel on other processes' memory."""

from __future__ import annotations

import ctypes
import errno
import os
import platform

import numpy as np
import pytest

from nearfar.machine import syscalls
from nearfar.run import process_memory

PAGES = np.array([1 << 20], np.uint64)


class Recorder:
    """Stands for the C library; keeps the numbers of the calls."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def syscall(self, number: ctypes.c_long, *_: object) -> int:
        self.numbers.append(number.value)
        return 0


@pytest.mark.parametrize(
    ("architecture", "numbers"),
    [("x86_64", [279, 238, 239, 440]), ("aarch64", [239, 237, 236, 440])],
)
def test_calls_have_the_numbers_of_the_architecture(
    architecture: str, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(syscalls, "_libc", recorder)
    monkeypatch.setattr(platform, "machine", lambda: architecture)
    process_memory.page_nodes(os.getpid(), PAGES)
    process_memory.set_mempolicy(0, [])
    process_memory.own_policy()
    process_memory.page_out(os.getpid(), [(1 << 20, 4096)])
    assert recorder.numbers == numbers


def test_an_unknown_architecture_is_like_a_kernel_without_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "sparc64")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)) as raised:
        process_memory.move_pages(os.getpid(), PAGES, 0)
    assert raised.value.errno in process_memory.REFUSALS
    assert process_memory.own_policy() == (0, set())
