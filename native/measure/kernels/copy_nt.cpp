// Loads and non-temporal stores, one for one: traffic of read share 0.5.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

class CopyNt final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access, .non_temporal = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.has_nt_store ? "" : "has no stores past the caches";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, 2);
    std::uint64_t sum = 0;
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      sum += lane.operations->copy_nt(arrays.target(at), arrays.source(0, at), count);
    });
    stores_end();
    return sum;
  }
};

NEARFAR_KERNEL(CopyNt, "copy-nt", "half the lines copied to the others past the caches")

}  // namespace
}  // namespace nearfar::measure
