"""Finds the instructions that may store to the pool and the lines that ran."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from crash.crash_programs import built, explore

from nearfar.crash.coverage import _instructions

_LISTING = """
0000000000001139 <append>:
    1139:	mov    %rsp,%rbp
    113c:	movq   $0x1,(%rdi)
    1140:	mov    %rax,-0x8(%rbp)
    1144:	cmpq   $0x0,0x8(%rdi)
    1148:	lock cmpxchg %rcx,(%rdx,%rax,8)
    114c:	rep stos %al,%es:(%rdi)
    1150:	vmovdqu64 %zmm0,0x40(%rdi){%k1}
    1154:	mov    (%rdi),%rax
    1158:	lea    0x8(%rdi),%rsi
    115c:	mov    %eax,0x2ee2(%rip)        # 4044 <count>
    1160:	call   1040 <pmem_persist@plt>
    1164:	call   *0x2e5e(%rip)        # 3fc8 <pmem_flush@LIBPMEM_1.0>
    1168:	call   1050 <printf@plt>
    116c:	ret
"""


def test_stores_through_pointers_and_calls_that_persist_are_found() -> None:
    actions = [(i.next_address, i.action) for i in _instructions(_LISTING.splitlines())]
    assert actions == [
        (0x1140, "a store"),
        (0x114C, "a store"),
        (0x1150, "a store"),
        (0x1154, "a store"),
        (0x1164, "pmem_persist"),
        (0x1168, "pmem_flush"),
    ]


def test_lines_that_did_not_run_are_named(tmp_path: Path) -> None:
    program = str(built("crash_odd"))
    if subprocess.run(["which", "objdump"], capture_output=True, check=False).returncode:
        pytest.skip("no objdump here: binutils is not installed")
    code = explore(tmp_path, f"{program} {{pool}} check", [program, "{pool}", "plain"]).code
    assert code is not None
    assert 0 < code.reached < code.lines
    missed = {(line.function, line.what) for line in code.missed}
    assert ("reads_into", "pmem_persist") in missed
    assert "set" not in {function for function, _ in missed}
