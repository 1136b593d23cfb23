#include <algorithm>
#include <array>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

namespace {

using Newest = std::array<std::uint32_t, max_registers>;

std::uint32_t newest_of(const RegisterLists& lists, std::uint32_t row, const Newest& newest) {
  std::uint32_t latest = 0;
  for (std::uint32_t i = lists.begins[row]; i < lists.begins[row + 1]; ++i) {
    if (newest[lists.values[i]] > latest) latest = newest[lists.values[i]];
  }
  return latest;
}

}  // namespace

std::vector<std::uint32_t> dependences(const Trace& trace, const Burst& burst) {
  std::vector<std::uint32_t> distances(burst.accesses.size(), 0);
  // Per register: 1 + the newest load that its value depends on.
  Newest newest{};
  // Per store: the same for the stored value.
  std::vector<std::uint32_t> stored(burst.accesses.size(), 0);
  std::uint32_t instruction = 0;
  std::size_t access = 0;
  for (const std::uint32_t number : burst.blocks) {
    const Block& block = trace.blocks[number];
    for (std::uint32_t row = block.first; row < block.first + block.count; ++row, ++instruction) {
      const std::uint32_t address_source = newest_of(trace.code.address, row, newest);
      std::uint32_t result = newest_of(trace.code.uses, row, newest);
      for (; access < burst.accesses.size() && burst.accesses[access].instruction == instruction;
           ++access) {
        const Access& memory_access = burst.accesses[access];
        const auto self = static_cast<std::uint32_t>(access) + 1;
        if (address_source != 0 && address_source < self) distances[access] = self - address_source;
        if (memory_access.store) {
          stored[access] = result;
        } else {
          // A reloaded value depends on what it depended on when it was stored.
          const std::uint32_t spilled =
              memory_access.stored_by != 0 ? stored[memory_access.stored_by - 1] : 0;
          result = spilled != 0 ? std::max(result, spilled) : self;
        }
      }
      for (std::uint32_t i = trace.code.defs.begins[row]; i < trace.code.defs.begins[row + 1];
           ++i) {
        newest[trace.code.defs.values[i]] = result;
      }
    }
  }
  return distances;
}

}  // namespace nearfar::sim
