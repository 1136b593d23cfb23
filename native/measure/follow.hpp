// Follows links by dependent loads; shared by the chases.
#pragma once

#include <cstdint>

#include "measure/kernel.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {

// A link points at a word, so following it is a load without an offset.
inline const std::byte* follow(const std::byte* word) {
  return *reinterpret_cast<std::byte* const*>(word);
}

template <Links which>
class Follow final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& /*shape*/) const override {
    return {.read = cache_line, .dependent_loads = 1};
  }
  [[nodiscard]] Links links() const override { return which; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const std::byte* at = start(lane);
    for (std::uint64_t i = 0; i < iterations; ++i) at = follow(at);
    lane.position += iterations;
    return static_cast<std::uint64_t>(at - lane.base) / cache_line.count;
  }
  [[nodiscard]] bool can_time_each() const override { return true; }
  std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks,
                     std::uint64_t rest) const override {
    const std::byte* at = start(lane);
    time_accesses(
        ticks, rest, [] { return 0; },
        [&](int) { at = *reinterpret_cast<std::byte* const volatile*>(at); });
    lane.position += ticks.size();
    return static_cast<std::uint64_t>(at - lane.base) / cache_line.count;
  }

 private:
  static const std::byte* start(const Lane& lane) {
    const std::uint64_t visit = lane.position % lane.visits;
    const std::uint64_t line = lane.order == nullptr ? visit : lane.order[visit];
    return lane.line(line) + lane.link * sizeof(std::byte*);
  }
};

}  // namespace nearfar::measure
