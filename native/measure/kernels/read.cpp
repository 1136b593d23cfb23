// Loads of whole lines in sequence: read bandwidth.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class Read final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access};
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      sum += lane.operations->read(lane.line(first), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(Read, "read", "loads of whole lines, one after the other")

}  // namespace
}  // namespace nearfar::measure
