// Loads of whole lines in sequence: read bandwidth.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/visits.hpp"

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

NEARFAR_KERNEL(Read, "read", "loads of whole lines in sequence")

// Independent loads, one per line, in random order: read bandwidth without prefetching.
using ReadRandom = Visits<Scattered, Load>;
NEARFAR_KERNEL(ReadRandom, "read-random", "independent loads, one per line, in random order")

// Independent loads a stride apart: how much memory fetches at once per access.
using ReadStrided = Visits<InOrder, Load>;
NEARFAR_KERNEL(ReadStrided, "read-strided", "independent loads, --stride apart")

// Sum of an array, which STREAM does not measure: the bandwidth of a program that only reads.
using StreamSum = Read;
NEARFAR_KERNEL(StreamSum, "stream-sum", "the sum of an array: loads only")

}  // namespace
}  // namespace nearfar::measure
