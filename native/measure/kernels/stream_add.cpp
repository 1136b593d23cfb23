// STREAM's third: c = a + b.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class StreamAdd final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access * 2, .written = shape.access, .owned = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 3);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->add(arrays.target(at), arrays.source(0, at), arrays.source(1, at),
                                  count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(StreamAdd, "stream-add", "STREAM add: c = a + b, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
