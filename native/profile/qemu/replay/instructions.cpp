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
  const auto [place, is_new] = numbers.try_emplace(access.instruction << 1 | access.store, next);
  if (is_new) known.push_back(access);
  return place->second;
}

void reset_instructions() {
  numbers.clear();
  known.clear();
}

// The record has no names yet: line and column contain the address, low half first, from which
// nearfar/profile/sources/process_files.py computes function, file and line.
void record_instruction(std::uint32_t site) {
  const GuestAccess& access = known[site];
  runtime.instructions.find_or_add(
      std::uint64_t{site} + 1, this_thread.id, [&](InstructionRecord& record) {
        record.line = static_cast<std::uint32_t>(access.instruction);
        record.column = static_cast<std::uint32_t>(access.instruction >> 32);
        record.bytes = access.bytes;
        record.operation = access.store ? NF_STORE : NF_LOAD;
        record.access_class = NF_OPAQUE;
        record.tests_per_line = 1;
      });
}

}  // namespace nearfar::profile
