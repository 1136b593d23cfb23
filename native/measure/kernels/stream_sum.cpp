// The sum of an array, which STREAM lacks: what a program that only reads gets.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class StreamSum final : public Kernel {
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

NEARFAR_KERNEL(StreamSum, "stream-sum", "the sum of an array: loads only")

}  // namespace
}  // namespace nearfar::measure
