"""Registers, memory accesses and latency of x86 instructions, decoded by iced-x86.

iced-x86 knows every register that an instruction touches, flags and AVX-512 included. Capstone's
lists are incomplete for vectors, and LLVM's disassembler would have to be linked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import iced_x86 as x86

from nearfar.documents.bursts import FLAGS

_ALWAYS_READ = {x86.OpAccess.READ, x86.OpAccess.READ_WRITE, x86.OpAccess.READ_COND_WRITE}
_READ = _ALWAYS_READ | {x86.OpAccess.COND_READ}
_WRITTEN = {x86.OpAccess.WRITE, x86.OpAccess.READ_WRITE}
_PERHAPS_WRITTEN = {x86.OpAccess.COND_WRITE, x86.OpAccess.READ_COND_WRITE}

# Cycles from inputs to result, as on most cores since 2015 (uops.info: Skylake to Golden Cove and
# Zen 2 to 4 agree within one or two). Instructions that are not listed take one.
_CYCLES = {
    3: "IMUL MUL CRC32 POPCNT LZCNT TZCNT PDEP PEXT MULX UCOMIS COMIS",
    4: "ADDS ADDP SUBS SUBP MULS MULP FMADD FMSUB FNMADD FNMSUB CVT",
    5: "PMUL",
    10: "PMULL",
    14: "DIV IDIV DIVS DIVP",
    18: "SQRT",
}
_CYCLES_BY_START = {start: cycles for cycles, starts in _CYCLES.items() for start in starts.split()}
_NAMES = {value: name for name, value in vars(x86.Mnemonic).items() if isinstance(value, int)}


@dataclass(frozen=True)
class DecodedInstruction:
    """Numbers of the registers one instruction uses and defines, and its cycles."""

    address: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    defs: list[int] = field(default_factory=list)
    cycles: int = 1
    conditional: bool = False
    loads: bool = False
    stores: bool = False


def decode(address: int, content: bytes) -> DecodedInstruction:
    """Decode the instruction with these bytes; an unknown one uses and defines nothing."""
    instruction = x86.Decoder(64, content, ip=address).decode()
    if instruction.is_invalid:
        return DecodedInstruction()
    info = x86.InstructionInfoFactory().info(instruction)
    stack = instruction.is_stack_instruction  # the core renames the stack pointer beforehand
    address_registers: set[int] = set()
    loads = stores = False
    for memory in info.used_memory():
        if memory.access == x86.OpAccess.NO_MEM_ACCESS:
            continue
        loads = loads or memory.access in _READ
        stores = stores or memory.access in _WRITTEN | _PERHAPS_WRITTEN
        address_registers |= {_number(memory.base), _number(memory.index)}
    uses: set[int] = set()
    defs: set[int] = set()
    for used in info.used_registers():
        number = _number(used.register)
        if used.access in _READ | _PERHAPS_WRITTEN:
            uses.add(number)
        if used.access in _WRITTEN | _PERHAPS_WRITTEN:
            defs.add(number)
    if instruction.rflags_read:
        uses.add(FLAGS)
    if instruction.rflags_modified:
        defs.add(FLAGS)
    not_waited_for = {_number(x86.Register.NONE), _number(x86.Register.RIP)}
    if stack:
        not_waited_for.add(_number(x86.Register.RSP))
    if instruction.is_string_instruction:  # its next address does not wait for what it loads
        defs -= address_registers | {_number(x86.Register.RCX)}
    return DecodedInstruction(
        address=sorted(address_registers - not_waited_for),
        uses=sorted(uses - not_waited_for - address_registers),
        defs=sorted(defs - not_waited_for),
        cycles=_cycles(_NAMES.get(instruction.mnemonic, "")),
        conditional=instruction.flow_control == x86.FlowControl.CONDITIONAL_BRANCH,
        loads=loads,
        stores=stores,
    )


def _number(register: int) -> int:
    if register == x86.Register.NONE:
        return 0
    return int(x86.RegisterExt.full_register(register))  # type: ignore[arg-type]


def _cycles(name: str) -> int:
    name = name.removeprefix("V")
    longest = max(
        (start for start in _CYCLES_BY_START if name.startswith(start)), key=len, default=""
    )
    return _CYCLES_BY_START.get(longest, 1)
