// STREAM's fourth with non-temporal stores: a = b + 3 c.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

class StreamTriadNt final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access * 2, .non_temporal = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.has_nt_store ? "" : "has no stores past the caches";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 3);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->stream_nt(arrays.target(at), arrays.source(0, at),
                                        arrays.source(1, at), count);
    });
    stores_end();
    return sum;
  }
};

NEARFAR_KERNEL(StreamTriadNt, "stream-triad-nt", "STREAM triad with stores past the caches")

}  // namespace
}  // namespace nearfar::measure
