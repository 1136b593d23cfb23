// Stores one word to each of eight random lines, by one instruction if the instruction set has it.
#include <array>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Scatter final : public Kernel {
 public:
  // An iteration is a group of eight.
  [[nodiscard]] Traffic traffic(const Shape& /*shape*/) const override {
    constexpr Bytes all = cache_line * scattered_lines;
    return {.written = all, .owned = all};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const std::uint64_t groups = lane.position;
    lane.position *= scattered_lines;
    {
      Scattered order(lane);
      std::array<std::uint64_t, scattered_lines> offsets{};
      for (std::uint64_t i = 0; i < iterations; ++i) {
        for (auto& offset : offsets) offset = static_cast<std::uint64_t>(order.next() - lane.base);
        lane.operations->scatter(lane.base, offsets.data(), groups + 1);
      }
    }
    lane.position = groups + iterations;
    return lane.position;
  }
};

NEARFAR_KERNEL(Scatter, "scatter", "groups of 8 words of random lines by one store")

}  // namespace
}  // namespace nearfar::measure
