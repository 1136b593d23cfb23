// Independent loads, one of each line, in random order: read bandwidth without prefetching.
#include "measure/kernel.hpp"
#include "measure/one_line.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class ReadRandom final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic() const override { return {.read = cache_line}; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    scattered(lane, iterations, [&](const std::byte* line) { sum += touch_line(line); });
    return sum;
  }
};

NEARFAR_KERNEL(ReadRandom, "read-random", "independent loads, one of each line, in random order")

}  // namespace
}  // namespace nearfar::measure
