// Loads one word of each of eight random lines, by one instruction if the instruction set has it.
#include <array>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Gather final : public Kernel {
 public:
  // An iteration is a group of eight.
  [[nodiscard]] Traffic traffic(const Shape& /*shape*/) const override {
    return {.read = cache_line * scattered_lines};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    const std::uint64_t groups = lane.position;
    lane.position *= scattered_lines;
    {
      Scattered order(lane);
      std::array<std::uint64_t, scattered_lines> offsets{};
      for (std::uint64_t i = 0; i < iterations; ++i) {
        for (auto& offset : offsets) offset = static_cast<std::uint64_t>(order.next() - lane.base);
        sum += lane.operations->gather(lane.base, offsets.data());
      }
    }
    lane.position = groups + iterations;
    return sum;
  }
};

NEARFAR_KERNEL(Gather, "gather", "groups of 8 words of random lines by one load")

}  // namespace
}  // namespace nearfar::measure
