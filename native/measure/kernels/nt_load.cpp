// Non-temporal loads in sequence: on most memory they behave like ordinary loads.
#include "measure/kernel.hpp"
#include "measure/orders.hpp"

namespace nearfar::measure {
namespace {

class NtLoad final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access};
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return operations.nt_load != nullptr ? "" : "has no non-temporal loads";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    std::uint64_t sum = 0;
    in_sequence(lane, lane.lines, iterations, [&](std::uint64_t first, std::uint64_t count) {
      sum += lane.operations->nt_load(lane.line(first), count);
    });
    return sum;
  }
};

NEARFAR_KERNEL(NtLoad, "nt-load", "non-temporal loads in sequence")

}  // namespace
}  // namespace nearfar::measure
