// Registers of an interrupted program, and memory addresses that its instructions use.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "crash/instruction.hpp"

namespace nearfar::crash {

// Returns the index in gregs of the register with this number in instructions.
constexpr int greg_of[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// Returns the address of the memory operand; `next` is the address of the next instruction. Not for
// EVEX instructions, which scale short displacements.
std::uint64_t operand_address(const Instruction& instruction, const ucontext_t& context,
                              std::uint64_t next);

}  // namespace nearfar::crash
