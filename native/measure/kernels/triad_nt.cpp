// Schoenauer's triad with non-temporal stores: a = (b xor c) + d.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

class TriadNt final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access * 3, .non_temporal = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.has_nt_store ? "" : "has no stores past the caches";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 4);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->triad_nt(arrays.target(at), arrays.source(0, at),
                                       arrays.source(1, at), arrays.source(2, at), count);
    });
    stores_end();
    return sum;
  }
};

NEARFAR_KERNEL(TriadNt, "triad-nt", "three arrays read, one written past the caches")

}  // namespace
}  // namespace nearfar::measure
