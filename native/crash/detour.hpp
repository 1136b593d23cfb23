// Runs one instruction of a program out of line, with its memory operand on a second mapping.
//
// A copy of the instruction, with another memory operand, runs between the program's registers
// being loaded and saved. This spares the processor's trap flag, which takes ten times as long in a
// virtual machine, and two changes of the page's protection. The recorder runs stores, the library
// in checkers loads too.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "crash/instruction.hpp"

namespace nearfar::crash {

// Bytes that a store of one instruction changes at most.
constexpr std::uint64_t max_store_bytes = 64;

// What a copy can do: save what the instruction loads, or only store.
enum class Detour { stores, loads_and_stores };

// Begin of what an instruction at `address` stores or loads that faulted at `fault`, or 0 if it
// cannot be run out of line: it names no memory operand, or does more.
std::uint64_t detour_operand(const Instruction& instruction, std::uint64_t address,
                             std::uint64_t fault, const ucontext_t& context,
                             Detour kind = Detour::stores);
// Runs it with its operand at `operand` and moves the program behind it. False: there is no room
// for its copy, and nothing happened. One thread at a time; `kind` is always the same.
bool run_detour(const Instruction& instruction, std::uint64_t address, char* operand,
                ucontext_t& context, Detour kind = Detour::stores);

}  // namespace nearfar::crash
