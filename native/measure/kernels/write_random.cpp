// Ordinary stores of whole lines in random order.
#include "measure/kernel.hpp"
#include "measure/one_line.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class WriteRandom final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic() const override {
    return {.written = cache_line, .owned = cache_line};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    scattered(lane, iterations, [&](std::byte* line) { write_line(line, lane.position + 1); });
    return lane.position;
  }
};

NEARFAR_KERNEL(WriteRandom, "write-random", "ordinary stores of whole lines in random order")

}  // namespace
}  // namespace nearfar::measure
