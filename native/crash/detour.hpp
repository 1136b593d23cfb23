// Runs one instruction of a program out of line, with its memory operand on a second mapping.
//
// The program's registers are loaded, a copy of the instruction with another memory operand runs,
// and the registers are saved. This avoids the processor's trap flag, which takes ten times as long
// in a virtual machine, and two changes of the page's protection. The recorder uses it for stores;
// the library in checkers also uses it for loads.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "crash/instruction.hpp"

namespace nearfar::crash {

// Maximum number of bytes that a store of one instruction changes.
constexpr std::uint64_t max_store_bytes = 64;

// Capabilities of a copy: store only, or load and save the registers that the instruction loads.
enum class Detour { stores, loads_and_stores };

// Returns the start of the bytes that the instruction at `address` stores or loads and that faulted
// at `fault`. Returns 0 if the instruction cannot run out of line, because it names no memory
// operand or does more than one access.
std::uint64_t detour_operand(const Instruction& instruction, std::uint64_t address,
                             std::uint64_t fault, const ucontext_t& context,
                             Detour kind = Detour::stores);
// Runs the instruction with its operand at `operand` and moves the program past it. Returns false,
// without any effect, if there is no space for the copy. Only one thread may call this at a time,
// always with the same `kind`.
bool run_detour(const Instruction& instruction, std::uint64_t address, char* operand,
                ucontext_t& context, Detour kind = Detour::stores);

}  // namespace nearfar::crash
