// Kernels that read arrays in parallel and write another: copies, STREAM's kernels, triads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "measure/kernel.hpp"
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {

enum class Stores : std::uint8_t { ordinary, non_temporal };

// `Operation`: member of Operations with a target, `sources` sources and a count.
template <auto Operation, unsigned sources, Stores stores = Stores::ordinary,
          Starts starts = Starts::staggered>
class Streamed final : public Kernel {
 public:
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    const Bytes read = shape.access * sources;
    if constexpr (nt) return {.read = read, .non_temporal = shape.access};
    return {.read = read, .written = shape.access, .owned = shape.access};
  }
  [[nodiscard]] bool has_target() const override { return true; }
  [[nodiscard]] Bytes part_for(Bytes array) const override {
    return cache_line * Arrays::lane_lines(array / cache_line, sources + 1, starts);
  }
  [[nodiscard]] std::string missing(const Operations& operations) const override {
    return nt && !operations.has_nt_store ? "has no non-temporal stores" : "";
  }
  std::uint64_t run(Lane& lane, std::uint64_t iterations) const override {
    const Arrays arrays(lane, sources + 1, starts);
    in_sequence(lane, arrays.lines(), iterations, [&](std::uint64_t at, std::uint64_t count) {
      operate(arrays, *lane.operations, at, count, std::make_index_sequence<sources>());
    });
    if constexpr (nt) store_fence();
    return 0;
  }

 private:
  static constexpr bool nt = stores == Stores::non_temporal;

  template <std::size_t... source>
  static void operate(const Arrays& arrays, const Operations& operations, std::uint64_t at,
                      std::uint64_t count, std::index_sequence<source...> /*sources*/) {
    (operations.*Operation)(arrays.target(at), arrays.source(source, at)..., count);
  }
};

}  // namespace nearfar::measure
