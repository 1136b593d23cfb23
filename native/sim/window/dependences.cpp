#include <algorithm>
#include <array>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

namespace {

using Newest = std::array<std::uint32_t, most_registers>;

std::uint32_t newest_of(const RegisterLists& lists, std::uint32_t row, const Newest& newest) {
  std::uint32_t found = 0;
  for (std::uint32_t i = lists.begins[row]; i < lists.begins[row + 1]; ++i) {
    if (newest[lists.values[i]] > found) found = newest[lists.values[i]];
  }
  return found;
}

}  // namespace

std::vector<std::uint32_t> dependences(const Trace& trace, const Burst& burst) {
  std::vector<std::uint32_t> found(burst.accesses.size(), 0);
  // By register: the newest load that its value comes from, plus 1.
  Newest newest{};
  // By access, of stores: the same of what they store.
  std::vector<std::uint32_t> stored(burst.accesses.size(), 0);
  std::uint32_t instruction = 0;
  std::size_t access = 0;
  for (const std::uint32_t number : burst.blocks) {
    const Block& block = trace.blocks[number];
    for (std::uint32_t row = block.first; row < block.first + block.count; ++row, ++instruction) {
      const std::uint32_t before = newest_of(trace.code.address, row, newest);
      std::uint32_t result = newest_of(trace.code.uses, row, newest);
      for (; access < burst.accesses.size() && burst.accesses[access].instruction == instruction;
           ++access) {
        const Access& one = burst.accesses[access];
        const auto self = static_cast<std::uint32_t>(access) + 1;
        if (before != 0 && before < self) found[access] = self - before;
        if (one.store) {
          stored[access] = result;
        } else {
          // What was kept in memory for a while comes from where it came from before.
          const std::uint32_t kept = one.stored_by != 0 ? stored[one.stored_by - 1] : 0;
          result = kept != 0 ? std::max(result, kept) : self;
        }
      }
      for (std::uint32_t i = trace.code.defs.begins[row]; i < trace.code.defs.begins[row + 1];
           ++i) {
        newest[trace.code.defs.values[i]] = result;
      }
    }
  }
  return found;
}

}  // namespace nearfar::sim
