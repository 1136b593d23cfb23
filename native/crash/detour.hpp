// Runs a store of the program out of line, on a second mapping of the pool that is writable.
//
// A copy of the instruction, with another memory operand, runs between the program's registers
// being loaded and saved. This spares the processor's trap flag, which takes ten times as long in a
// virtual machine, and two changes of the page's protection.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "crash/instruction.hpp"

namespace nearfar::crash {

// Bytes that a store of one instruction changes at most.
constexpr std::uint64_t max_store_bytes = 64;

// Begin of what an instruction at `address` stores that faulted at `fault`, or 0 if it cannot be
// run out of line: it names no memory operand, or does more than to store there.
std::uint64_t detour_operand(const Instruction& instruction, std::uint64_t address,
                             std::uint64_t fault, const ucontext_t& context);
// Runs it with its operand at `writable` and moves the program behind it. False: there is no room
// for its copy, and nothing happened. The lock is held.
bool run_detour(const Instruction& instruction, std::uint64_t address, char* writable,
                ucontext_t& context);

}  // namespace nearfar::crash
