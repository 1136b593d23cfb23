// Ordinary stores, one to each line, in random order: each line is owned first, written back later.
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
    scattered(lane, iterations, [&](std::byte* line) { dirty_line(line, lane.position + 1); });
    return lane.position;
  }
};

NEARFAR_KERNEL(WriteRandom, "write-random", "ordinary stores, one to each line, in random order")

}  // namespace
}  // namespace nearfar::measure
