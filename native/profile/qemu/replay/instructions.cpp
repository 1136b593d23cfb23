#include "profile/qemu/replay/instructions.hpp"

#include <unordered_map>
#include <vector>

#include "profile/abi.h"
#include "profile/runtime/access.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

std::unordered_map<std::uint64_t, std::uint32_t> numbers;
std::vector<GuestAccess> known;

}  // namespace

std::uint32_t number_of(const GuestAccess& access) {
  const auto next = static_cast<std::uint32_t>(known.size());
  const auto [place, fresh] = numbers.try_emplace(access.instruction << 1 | access.store, next);
  if (fresh) known.push_back(access);
  return place->second;
}

void forget_instructions() {
  numbers.clear();
  known.clear();
}

// The record has no names yet: in place of the line it holds the address, low half first, which
// nearfar/profile/sources/process_files.py turns into function, file and line.
void remember_instruction(std::uint32_t site) {
  const GuestAccess& access = known[site];
  runtime.instructions.find_or_add(
      std::uint64_t{site} + 1, this_thread.id, [&](InstructionRecord& fresh) {
        fresh.line = static_cast<std::uint32_t>(access.instruction);
        fresh.column = static_cast<std::uint32_t>(access.instruction >> 32);
        fresh.bytes = access.bytes;
        fresh.operation = access.store ? NF_STORE : NF_LOAD;
        fresh.access_class = NF_OPAQUE;
        fresh.tests_per_line = 1;
      });
}

}  // namespace nearfar::profile
