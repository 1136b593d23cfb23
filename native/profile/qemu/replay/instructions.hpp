// The program's instructions, which QEMU knows by their addresses alone.
#pragma once

#include <cstdint>

namespace nearfar::profile {

struct GuestAccess {
  std::uint64_t address;
  std::uint64_t instruction;
  std::uint64_t block;  // of instructions without a jump between, by its first one's address
  bool store;
  std::uint16_t bytes;
};

// Number of the instruction in this run: loads and stores of one are told apart.
std::uint32_t number_of(const GuestAccess& access);
void forget_instructions();

// Simulates the access.
void count_access(const GuestAccess& access);
void forget_sequences();
// Counts an access that the processor sampled, which stands for so many `events`.
void count_sample(const GuestAccess& access, bool missed, std::uint64_t events);

}  // namespace nearfar::profile
