// Bursts of a program's instructions, the input of the window simulation.
//
//   code      an instruction: the registers of its address, other inputs and results, and its
//             latency. Registers are numbers from 0; flags are one register.
//   block     code that is executed from its first to its last instruction
//   burst     consecutive blocks of one thread, with their accesses
//   served    the level that serves an access which misses the core's private caches
#pragma once

#include <cstdint>
#include <vector>

namespace nearfar::sim {

using Register = std::uint8_t;
inline constexpr unsigned max_registers = 256;

// A list of registers per row: row i is values[begins[i]] to values[begins[i + 1]].
struct RegisterLists {
  std::vector<std::uint32_t> begins;
  std::vector<Register> values;
};

struct Code {
  RegisterLists address;
  RegisterLists uses;
  RegisterLists defs;
  std::vector<std::uint8_t> cycles;
  std::vector<std::uint8_t> conditional;  // 1: a conditional branch
  std::vector<std::uint8_t> computing;    // 1: a load and a computation in one instruction
};

struct Block {
  std::uint32_t first;
  std::uint32_t count;
  std::uint64_t begin;  // addresses; they show whether a branch was taken
  std::uint64_t end;
};

struct Access {
  std::uint32_t instruction;  // index of its instruction in the burst
  std::uint32_t line;
  bool store;
  std::uint32_t stored_by;  // 1 + index of the store whose value it loads; 0: not in this burst
};

struct Burst {
  std::vector<std::uint32_t> blocks;
  std::vector<Access> accesses;
  // 1: a block's last instruction is mispredicted; set by `predict`. Bytes, which are read faster
  // than bits.
  std::vector<std::uint8_t> mispredicted;
};

enum class Served : std::uint8_t { private_cache, last_level, near, far };

struct Trace {
  Code code;
  std::vector<Block> blocks;
  std::vector<Burst> bursts;
  std::uint32_t lines = 0;  // line numbers are below this
};

// Sets `mispredicted` of all bursts.
void predict(Trace& trace);

// Returns for each access the distance back to the load that its address depends on, in accesses; 0
// if there is none in this burst.
std::vector<std::uint32_t> dependences(const Trace& trace, const Burst& burst);

}  // namespace nearfar::sim
