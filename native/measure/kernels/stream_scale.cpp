// STREAM's second: b = 3 c.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class StreamScale final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access, .written = shape.access, .owned = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 2);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->scale(arrays.target(at), arrays.source(0, at), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(StreamScale, "stream-scale", "STREAM scale: b = 3 c, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
