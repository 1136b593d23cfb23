// Instructions of the program, identified by their addresses.
#pragma once

#include <cstdint>

namespace nearfar::profile {

struct GuestAccess {
  std::uint64_t address;
  std::uint64_t instruction;
  std::uint64_t block;  // address of the block's first instruction
  bool store;
  std::uint16_t bytes;
};

// Returns the number of the instruction in this run; loads and stores of an instruction differ.
std::uint32_t number_of(const GuestAccess& access);
void reset_instructions();

// Simulates the access.
void count_access(const GuestAccess& access);
void reset_sequences();
// Counts an access that the processor sampled, which represents `events`.
void count_sample(const GuestAccess& access, bool missed, std::uint64_t events);

}  // namespace nearfar::profile
