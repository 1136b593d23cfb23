// A structured-grid solver in kind: passes over the arrays of a grid, as the NAS benchmarks make
// in every iteration.
//   sweeps X Y Z READ WRITTEN PASSES
// A pass reads READ arrays of X x Y x Z doubles, and reads and writes WRITTEN others.
#include <vector>

#include "kind.hpp"

int main(int argc, char** argv) {
  const uint64_t points =
      kind::number(argc, argv, 1) * kind::number(argc, argv, 2) * kind::number(argc, argv, 3);
  const uint64_t read = kind::number(argc, argv, 4);
  const uint64_t written = kind::number(argc, argv, 5);
  const uint64_t passes = kind::number(argc, argv, 6);
  std::vector<double*> arrays;
  for (uint64_t k = 0; k < read + written; ++k)
    arrays.push_back(kind::array<double>("grid", points));
  constexpr uint64_t PLANE = 2048;
  kind::measure(points, [&] {
    for (uint64_t pass = 0; pass < passes; ++pass) {
      for (uint64_t begin = 0; begin < points; begin += PLANE) {
        const uint64_t end = begin + PLANE < points ? begin + PLANE : points;
        double sums[PLANE] = {};
        for (uint64_t k = 0; k < read; ++k)
          for (uint64_t i = begin; i < end; ++i) sums[i - begin] += arrays[k][i];
        for (uint64_t k = read; k < read + written; ++k)
          for (uint64_t i = begin; i < end; ++i)
            arrays[k][i] = 0.5 * arrays[k][i] + sums[i - begin];
      }
    }
  });
  kind::sink = static_cast<uint64_t>(arrays[read][points / 2]);
}
