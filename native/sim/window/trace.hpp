// Bursts of a program's instructions, as a window simulates them.
//
// code      an instruction: which registers its address, its other inputs and its results are, how
//           long it computes. Registers are numbers from 0; flags are one of them.
// block     a stretch of code that is executed from its first to its last instruction
// burst     what one thread executed in one stretch: blocks, and the accesses these made
// served    where an access finds its line where the core's own caches have not got it
#pragma once

#include <cstdint>
#include <vector>

namespace nearfar::sim {

using Register = std::uint8_t;
inline constexpr unsigned most_registers = 256;

// Rows of several registers each: those of row i are values[begins[i]] to values[begins[i + 1]].
struct RegisterLists {
  std::vector<std::uint32_t> begins;
  std::vector<Register> values;
};

struct Code {
  RegisterLists address;
  RegisterLists uses;
  RegisterLists defs;
  std::vector<std::uint8_t> cycles;
  std::vector<std::uint8_t> conditional;  // 1: a branch that may go either way
  std::vector<std::uint8_t> computing;    // 1: it loads, and computes with what it loaded
};

struct Block {
  std::uint32_t first;
  std::uint32_t count;
  std::uint64_t begin;  // addresses, by which a branch's way is told
  std::uint64_t end;
};

struct Access {
  std::uint32_t instruction;  // place in the burst
  std::uint32_t line;
  bool store;
  std::uint32_t stored_by;  // place of the store, plus 1, whose word it loads; 0: none of the burst
};

struct Burst {
  std::vector<std::uint32_t> blocks;
  std::vector<Access> accesses;
  std::vector<bool> mispredicted;  // of each block's last instruction; filled by `predict`
};

enum class Served : std::uint8_t { private_cache, last_level, near, far };

struct Trace {
  Code code;
  std::vector<Block> blocks;
  std::vector<Burst> bursts;
  std::uint32_t lines = 0;  // numbers of lines are below
};

// Fills `mispredicted` of all bursts by a predictor that has seen the last one before.
void predict(Trace& trace);

// By access of a burst: which earlier access its address depends on, as a distance back in the
// list of accesses; 0 where on none of this burst.
std::vector<std::uint32_t> dependences(const Trace& trace, const Burst& burst);

}  // namespace nearfar::sim
