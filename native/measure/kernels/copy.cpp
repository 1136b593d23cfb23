// Loads and non-temporal stores, one for one: traffic of read share 0.5.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Copy final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic() const override {
    return {.read = cache_line, .non_temporal = cache_line};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    // From the lower half of the lane to the upper.
    const std::uint64_t half = lane.lines / 2;
    std::uint64_t sum = 0;
    in_sequence(lane, half, iterations, [&](std::uint64_t first, std::uint64_t count) {
      sum += lane.operations->copy(lane.line(half + first), lane.line(first), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(Copy, "copy", "loads of half the lines, stores past the caches to the others")

}  // namespace
}  // namespace nearfar::measure
